"""Irregular English forms, which a stemmer that cuts endings can not bring together.

Questions ask with the base form ("did she buy") for what was told in the past ("I bought"). Forms that are more often
another word stay out (`left`, `saw`, `felt`, `rose`, `lives`).
"""

from __future__ import annotations

_VERBS = """
    arise arose arisen; awake awoke awoken; become became; begin began begun; bend bent; bite bit bitten; bleed bled;
    blow blew blown; break broke broken; breed bred; bring brought; build built; burn burnt; buy bought;
    catch caught; choose chose chosen; cling clung; come came; creep crept; deal dealt; dig dug; draw drew drawn;
    dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed;
    fight fought; find found; flee fled; fly flew flown; forbid forbade forbidden; forget forgot forgotten;
    forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went gone; grow grew grown;
    hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lead led;
    learn learnt; lend lent; lose lost; make made; mean meant; meet met; mislead misled; overcome overcame; pay paid;
    prove proven; rebuild rebuilt; ride rode ridden; ring rang rung; run ran; say said; see seen; seek sought;
    sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk;
    sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken; spend spent; spin spun;
    stand stood; steal stole stolen; stick stuck; sting stung; strike struck; swear swore sworn; sweep swept;
    swell swollen; swim swam swum; swing swung; take took taken; teach taught; tear tore torn; tell told;
    think thought; throw threw thrown; understand understood; undo undid undone; wake woke woken; wear wore worn;
    weave wove woven; weep wept; win won; withdraw withdrew withdrawn; write wrote written; rewrite rewrote rewritten
"""
_NOUNS = """
    child children; man men; woman women; foot feet; tooth teeth; goose geese; mouse mice; wife wives; knife knives;
    wolf wolves; shelf shelves; half halves; loaf loaves; thief thieves; grandchild grandchildren
"""

BASE_FORMS = {
    form: base for entry in f"{_VERBS};{_NOUNS}".split(";") for base, *forms in [entry.split()] for form in forms
}
"""Inflected form to base form."""
