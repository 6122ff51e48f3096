"""Words that say nothing about what a question is after.

Short on purpose: what is a name, a thing, an abbreviation or the `am` of a clock elsewhere stays out (`may`, `will`,
`us`, `la`, `est`, `mit`). So do `I`, `me` and `my`: they tell a person's own messages from an assistant's, and their
idf keeps them small.
"""

from __future__ import annotations

ENGLISH = frozenset(
    """
    a about an and any are aren't as at be been being but by can could couldn't did didn't do does doesn't doing don't
    for from had has hasn't have haven't having he her hers him his how if in into is isn't it its of on or our ours
    she should so some than that the their theirs them then there these they this those to was wasn't we were weren't
    what when where which while who whom whose why with would wouldn't you your yours
    """.split()
)
GERMAN = frozenset(["das", "dem", "der", "des", "ein", "eine", "einen", "einer", "im", "und", "von", "zu"])
FRENCH = frozenset(["au", "aux", "ce", "cette", "dans", "de", "du", "en", "le", "les", "que", "qui", "une"])
SPANISH = frozenset(["como", "del", "el", "para", "por", "que", "se", "un", "una"])
PORTUGUESE = frozenset(["ao", "da", "em", "os", "para", "por", "que", "um", "uma"])

STOP_WORDS = ENGLISH | GERMAN | FRENCH | SPANISH | PORTUGUESE
