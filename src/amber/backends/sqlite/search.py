"""Search, the reading half: FTS5 tells which documents hold a token; texts are read as they were entered (``text``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

import orjson

from amber.backends.sql.engine import Execute
from amber.backends.sql.narrow import conditions
from amber.backends.sqlite.text import FOLDED
from amber.errors import Corrupt
from amber.model.collection import Facets
from amber.store.arguments import check_candidates
from amber.store.contract import PURGE, Candidate, Clause, SearchFilter, Text, TextChanges, TextPage, TextStats

#: What stands between tokens: a word with it is in no document, and FTS5 would take it apart.
_BETWEEN = re.compile(r"[\x00-\x20\x7f]|^$")


def stats(execute: Execute, space: int, terms: Sequence[str]) -> TextStats:
    """Give the figures that ranking needs."""
    row = execute("SELECT documents, tokens FROM amber_space WHERE n = ?", (space,)).fetchone()
    documents, tokens = row if row is not None else (0, 0)
    frequency = dict.fromkeys(terms, 0)
    prefix = f"{space:x}."
    asked = orjson.dumps([prefix + term for term in frequency if not _BETWEEN.search(term)]).decode()
    sql = "SELECT v.term, v.doc FROM json_each(?) n CROSS JOIN amber_vocabulary v ON v.term = n.value"
    for term, count in execute(sql, (asked,)):
        frequency[term[len(prefix) :]] = count
    padded = [(term, f" {prefix}{term} ") for term in frequency]
    for _, held in _waiting(execute, space, "", ()):
        for term, token in padded:
            if token in held:
                frequency[term] += 1
    return TextStats(documents, tokens / documents if documents else 0.0, frequency)


def candidates(
    execute: Execute,
    space: int,
    clauses: Sequence[Clause],
    filter: SearchFilter,
    also: Sequence[str],
    limit: int,
) -> list[Candidate]:
    """Give the documents with the largest sums of weights."""
    words = check_candidates(clauses, filter, also, limit)
    narrowed, values = conditions(filter)
    if narrowed:
        sql = f"""SELECT d.id FROM amber_search CROSS JOIN amber_doc d ON d.id = amber_search.rowid
                  WHERE amber_search MATCH ? AND {narrowed}"""
    else:
        sql = "SELECT rowid FROM amber_search WHERE amber_search MATCH ?"
    sums: dict[int, int] = {}
    for clause in clauses:
        match = _match(space, clause)
        if match is None:
            continue
        weight, known = clause.weight, sums.get
        for (number,) in execute(sql, (match, *values)):
            sums[number] = known(number, 0) + weight
    for number, held in _waiting(execute, space, narrowed, values):
        total = sum(clause.weight for clause in clauses if _holds(space, held, clause))
        if total:
            sums[number] = total
    return _load(execute, space, words, _best(execute, sums, limit))


def _waiting(execute: Execute, space: int, conditions: str, values: Sequence[Any]) -> list[tuple[int, str]]:
    """Give the texts that FTS5 does not have yet: their numbers, and their tokens between blanks."""
    # NOT INDEXED: found by their ids; by the key index every document of the space would be looked at
    narrowed = f" AND {conditions}" if conditions else ""
    sql = f"""SELECT d.id, ' ' || d.tokens || ' ' FROM amber_doc d NOT INDEXED
              WHERE d.id > {FOLDED} AND d.space = ? AND d.tokens IS NOT NULL{narrowed}"""
    found: list[tuple[int, str]] = execute(sql, (space, *values)).fetchall()
    return found


def _holds(space: int, held: str, clause: Clause) -> bool:
    """Tell whether a text fulfils a clause."""
    if not all(f" {space:x}.{word} " in held for word in clause.words):
        return False
    return not clause.among or any(f" {space:x}.{word} " in held for word in clause.among)


def _match(space: int, clause: Clause) -> str | None:
    """Write a clause as FTS5 asks for it; None when no document can fulfil it."""
    if any(_BETWEEN.search(word) for word in clause.words):
        return None
    match = " AND ".join(quoted(space, word) for word in clause.words)
    if not clause.among:
        return match
    among = [quoted(space, word) for word in clause.among if not _BETWEEN.search(word)]
    return f"{match} AND ({' OR '.join(among)})" if among else None


def quoted(space: int, term: str) -> str:
    """Write a token as an FTS5 text that can hold anything."""
    return '"' + f"{space:x}.{term}".replace('"', '""') + '"'


def _best(execute: Execute, sums: dict[int, int], limit: int) -> dict[int, int]:
    """Give those with the largest sums, in any order."""
    if len(sums) <= limit:
        return sums
    cut = sorted(sums.values(), reverse=True)[limit - 1]
    best = {number: total for number, total in sums.items() if total > cut}
    tied = [number for number, total in sums.items() if total == cut]
    room = limit - len(best)
    if len(tied) > room:
        sql = """SELECT d.id FROM json_each(?) n CROSS JOIN amber_doc d ON d.id = n.value
                 ORDER BY d.position DESC, d.key, d.collection LIMIT ?"""
        tied = [row[0] for row in execute(sql, (_listed(tied), room))]
    best.update(dict.fromkeys(tied, cut))
    return best


def _listed(numbers: Iterable[int]) -> str:
    """Write numbers as one value: a statement of one form is prepared once."""
    return orjson.dumps([*numbers]).decode()


def _load(execute: Execute, space: int, words: Sequence[str], sums: dict[int, int]) -> list[Candidate]:
    """Give documents by their sums; ties by newest position, then key, then collection."""
    sql = """SELECT d.id, d.collection, d.key, d.position, d.length, d.sender, d.project, d.session, d.type, d.at,
             d.tokens, d.counts FROM json_each(?) n CROSS JOIN amber_doc d ON d.id = n.value"""
    wanted = [(term, f" {space:x}.{term} ") for term in words]
    rows = []
    for number, collection, key, position, length, *facets, tokens, counts in execute(sql, (_listed(sums),)):
        text = f" {tokens} "
        held = {}
        for term, padded in wanted:
            place = text.find(padded)
            if place >= 0:
                held[term] = counts[text.count(" ", 0, place)]
        found = Candidate(collection, key, position, length, held, Facets(*facets))
        rows.append((-sums[number], -position, key, collection, found))
    if len(rows) < len(sums):
        raise Corrupt("A text that the search found is gone. Run verify, and restore a backup.")
    rows.sort(key=_order)
    return [row[4] for row in rows]


_order = itemgetter(0, 1, 2, 3)


_TEXTS = """SELECT d.collection, d.key, d.position, d.length, d.sender, d.project, d.session, d.type, d.at, d.tokens,
            d.counts FROM amber_doc d WHERE d.space = ? AND d.tokens IS NOT NULL AND """


def texts(execute: Execute, space: int, after: tuple[str, str] | None, limit: int, settled: bool) -> TextPage:
    """Give one page of texts."""
    sql = f"{_TEXTS} (d.collection, d.key) > (?, ?) ORDER BY d.collection, d.key LIMIT ?"
    rows = execute(sql, (space, *(after or ("", "")), limit + 1)).fetchall()
    found = [_text(space, row) for row in rows[:limit]]
    cursor = (found[-1].collection, found[-1].key) if len(rows) > limit else None
    return TextPage(found, cursor, _position(execute, space), settled)


def _text(space: int, row: tuple[Any, ...]) -> Text:
    prefix = len(f"{space:x}.")
    terms = {token[prefix:]: count for token, count in zip(row[9].split(" "), row[10], strict=False)}
    collection, key, position, length = row[:4]
    return Text(collection, key, position, length, terms, Facets(*row[4:9]))


def _position(execute: Execute, space: int) -> int:
    row = execute("SELECT position FROM amber_space WHERE n = ?", (space,)).fetchone()
    return row[0] if row is not None else 0


def text_changes(execute: Execute, space: int, since: tuple[int, int], limit: int, settled: bool) -> TextChanges | None:
    """Give the texts that changed from a place of the log on."""
    newest, first = _position(execute, space), since[0]
    if first > newest:
        return TextChanges([], [], since, newest, settled) if since == (newest + 1, 0) else None
    oldest = execute("SELECT min(position) FROM amber_log WHERE space = ? AND position >= ?", (space, first)).fetchone()
    if oldest[0] != first:
        return None
    rows = execute(
        """SELECT position, n, collection, key FROM amber_change WHERE space = ? AND (position, n) >= (?, ?)
           ORDER BY position, n LIMIT ?""",
        (space, *since, limit + 1),
    ).fetchall()
    upto = (rows[limit][0], rows[limit][1]) if len(rows) > limit else (newest + 1, 0)
    places = dict.fromkeys((row[2], row[3]) for row in rows[:limit])
    purges = execute(
        "SELECT 1 FROM amber_log WHERE space = ? AND position >= ? AND position < ? AND operation GLOB ? LIMIT 1",
        (space, first, upto[0], f"{PURGE}*"),
    ).fetchone()
    if purges is not None:
        # the marks say what was taken; one that was taken again since has its mark further on
        sql = "SELECT collection, key FROM amber_purged WHERE space = ? AND position >= ? AND position < ?"
        places.update(dict.fromkeys(execute(sql, (space, first, upto[0]))))
    found, gone = [], []
    for place in places:
        row = execute(f"{_TEXTS} d.collection = ? AND d.key = ?", (space, *place)).fetchone()
        if row is None:
            gone.append(place)
        else:
            found.append(_text(space, row))
    return TextChanges(found, gone, upto, newest, settled)
