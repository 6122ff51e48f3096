"""Cut a normalised chunk of text into words and give the tokens of each.

A word is kept whole and, when it is built of others, in parts: a path, an address, a dotted, hyphened, underscored or
camel-cased name. Scripts without spaces give single characters and pairs of neighbours.
"""

from __future__ import annotations

import hashlib
import re
import threading
from enum import IntEnum
from typing import NamedTuple

import Stemmer

from amber.search.characters import EMOJI, FLAG, HAN, HANGUL, KATAKANA, MARK, UNSPACED, fold_accents, fold_case, shape
from amber.search.irregular import BASE_FORMS

MAX_TOKEN = 64
_KEPT = 40


class Kind(IntEnum):
    """What a token is of the word that it came from."""

    WORD = 0
    WHOLE = 1
    PART = 2
    FOLDED = 3
    PAIR = 4
    SINGLE = 5


class Segment(NamedTuple):
    """A token and the place in the normalised chunk that it stands for."""

    token: str
    start: int
    end: int
    kind: Kind


_CORE = rf"[A-Za-z0-9_][A-Za-z0-9_{MARK}]*"
_URL = rf"""
    (?P<url> [A-Za-z][A-Za-z0-9+.-]{{1,20}}://
             (?: [A-Za-z0-9_~/%{MARK}] | [-.:?\#@!$&*+,;=]+(?=[A-Za-z0-9_~/%]) )+ )
    |
"""
_WORD = rf"""
    (?P<amount> (?<![A-Za-z0-9_{MARK}.,]) [0-9]{{1,3}}(?:,[0-9]{{3}})+(?:\.[0-9]+)? (?![A-Za-z0-9_]) )
    | (?P<prefix> (?<![A-Za-z0-9_{MARK}.@\#-]) (?: --?(?=[A-Za-z]) | [.@\#](?=[A-Za-z0-9]) ) )?
      (?P<name> {_CORE} (?: (?: :: | [-'./\\@:+\#&] ) {_CORE} )* )
      (?P<suffix> \+\+(?!\+) | \#(?!\#) )?
    | (?P<han> [{HAN}{KATAKANA}] [{HAN}{KATAKANA}{MARK}]* )
    | (?P<hangul> {HANGUL} [{HANGUL}{MARK}]* )
    | (?P<unspaced> {UNSPACED} [{UNSPACED}{MARK}]* )
    | (?P<emoji> {EMOJI} | {FLAG}{{1,2}} )
"""
_WORDS_AND_URLS = re.compile(_URL + _WORD, re.VERBOSE)
_WORDS = re.compile(_WORD, re.VERBOSE)
_PLAIN = re.compile(r"""["'(\[*]*([A-Z]?[a-z]+|[A-Z]+)[.,;:!?)"'\]*]*""")
# One name and nothing else that counts: no prefix or suffix, no apostrophe, no underscore at its ends.
_ONE_NAME = re.compile(
    r"[^A-Za-z0-9_.,@#-]*([A-Za-z0-9](?:[A-Za-z0-9_]|(?:::|[-./\\@:+#&])(?=[A-Za-z0-9_]))*)(?<!_)[^A-Za-z0-9_+#]*"
)
_ADDRESS = re.compile(r"[/\\@#&+]+|::|(?<![0-9]):|:(?![0-9])|(?<=[0-9])[Tt](?=[0-9]{2}:)")
_DOT = re.compile(r"(?<![0-9])\.|\.(?![0-9])")
_HYPHEN = re.compile(r"[-_]+")
_APOSTROPHE = re.compile("'")
_BORDERS = (_ADDRESS, _DOT, _HYPHEN)
_CAMEL = re.compile(rf"[A-Z]+(?![a-z])|[A-Z]?[a-z{MARK}]+|[A-Z]")
_CAMEL_BORDER = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_LETTERS_DIGITS = re.compile(r"([A-Za-z]{2,})([0-9]+)|([0-9]+)([A-Za-z]{2,})")
_HEX = re.compile(r"(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,}")
_VERSION = re.compile(r"v([0-9]+(?:\.[0-9]+)*)", re.IGNORECASE)
_INITIALS = re.compile(r"[A-Za-z](?:\.[A-Za-z])+")
_CLUSTER = re.compile(rf"[^{MARK}]{MARK}*")
_KATAKANA_WORD = re.compile(rf"[{KATAKANA}{MARK}]{{3,}}")
_CONTRACTIONS = ("'s", "'ll", "'re", "'ve", "'d", "'m")


class _PerThread(threading.local):
    """Hold one stemmer per thread: PyStemmer's objects have state and must not be called by two threads at once."""

    def __init__(self) -> None:
        self.stem = Stemmer.Stemmer("english", 0).stemWord


_stemmer = _PerThread()


def stem(word: str) -> str:
    """Return the English Snowball stem of a lower-case ASCII word or of its base form; safe in all threads."""
    stemmed: str = _stemmer.stem(BASE_FORMS.get(word, word))
    return stemmed


def bounded(token: str) -> str:
    """Return `token`, or its first 40 characters and a hash of all of it when it is longer than `MAX_TOKEN`."""
    if len(token) <= MAX_TOKEN:
        return token
    digest = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{token[:_KEPT]}~{digest}"


def tokens(text: str) -> tuple[str, ...]:
    """Return the tokens of `segments(text)`; fast for an ordinary word with quotes or stops around it."""
    if plain := _PLAIN.fullmatch(text):
        return (bounded(stem(plain[1].lower())),)
    if not text.isascii():
        return tuple(segment.token for segment in segments(text))
    found: list[str] = []
    if name := _ONE_NAME.fullmatch(text):
        _expand(name[1], 0, found)
        return tuple(found)
    cutter = _Cutter(text)
    for match in _WORDS_AND_URLS.finditer(text):
        word = match["name"]
        # a prefix, a suffix, an apostrophe or an underscore at an end makes another word of a name
        if match.lastgroup == "name" and not match["prefix"] and "_" not in (word[0], word[-1]) and "'" not in word:
            _expand(word, 0, found)
        else:
            cutter.word(match)
            found += [segment.token for segment in cutter.found]
            cutter.found.clear()
    return tuple(found)


def _expand(word: str, level: int, found: list[str]) -> None:
    """Do what ``_Cutter.compound`` does for an ASCII word without apostrophes, without places."""
    if word.isalnum():
        found += _leaf_tokens[word]
        return
    if word[1:2] == "." and _INITIALS.fullmatch(word):
        whole = word.lower()
        found += (bounded(whole), bounded(whole.replace(".", "")))
        return
    while level < len(_BORDERS):
        pieces = _BORDERS[level].split(word)
        level += 1
        if len(pieces) == 1:
            continue
        pieces = [piece for piece in pieces if piece]
        if not pieces:
            return
        if len(pieces) > 1:
            found.append(bounded(word.lower()))
            for piece in pieces:
                if piece.isalnum():
                    found += _leaf_tokens[piece]
                else:
                    _expand(piece, level, found)
            return
        word = pieces[0]
    found += _leaf_tokens[word]


def segments(text: str) -> list[Segment]:
    """Return the tokens of normalised `text` in order, each word's whole form before its parts."""
    return _Cutter(text).run()


class _Cutter:
    """Collect the segments of one chunk."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.shape = text if text.isascii() else shape(text)
        self.found: list[Segment] = []

    def run(self) -> list[Segment]:
        self.words(_WORDS_AND_URLS, 0, len(self.text))
        return self.found

    def words(self, pattern: re.Pattern[str], start: int, end: int) -> None:
        for match in pattern.finditer(self.shape, start, end):
            self.word(match)

    def word(self, match: re.Match[str]) -> None:
        left, right = match.span()
        group = match.lastgroup
        if group == "url":
            self.add(fold_case(self.text[left:right]), left, right, Kind.WHOLE)
            self.words(_WORDS, self.shape.index("://", left) + 3, right)
        elif group == "amount":
            self.add(self.text[left:right].replace(",", ""), left, right, Kind.WORD)
        elif group in ("name", "suffix"):
            self.name(match)
        elif group == "emoji":
            self.add(self.text[left:right], left, right, Kind.WORD)
        else:
            self.run_of_characters(left, right, group == "hangul")

    def add(self, token: str, start: int, end: int, kind: Kind) -> None:
        self.found.append(Segment(bounded(token), start, end, kind))

    def name(self, match: re.Match[str]) -> None:
        start, end = match.span("name")
        while end > start and self.shape[end - 1] == "_":
            end -= 1
        while start < end and self.shape[start] == "_":
            start += 1
        if start == end:
            return
        outer_start, outer_end = start, end
        if match["prefix"]:
            outer_start = match.start()
        elif self.shape[match.start() : start] == "__" and self.shape[end : match.end()].startswith("__"):
            outer_start, outer_end = start - 2, end + 2
        if match["suffix"]:
            outer_end = match.end()
        if (outer_start, outer_end) == (start, end):
            self.compound(start, end, Kind.WORD)
        else:
            self.add(fold_case(self.text[outer_start:outer_end]), outer_start, outer_end, Kind.WHOLE)
            pieces = self.pieces(_ADDRESS, start, end)
            last = pieces[-1] if pieces else (start, end)
            if match["suffix"] and last != (start, end):
                # the suffix belongs to the last of several names: C/C++ holds C++
                self.add(fold_case(self.text[last[0] : outer_end]), last[0], outer_end, Kind.PART)
            self.compound(start, end, Kind.PART)

    def compound(self, start: int, end: int, kind: Kind, level: int = 0) -> None:
        """Add the word at `start`, whole and then split at the borders of `level` and the levels below it."""
        if self.text[start:end].isalnum():
            self.leaf(start, end, kind)
            return
        if _INITIALS.fullmatch(self.shape, start, end):
            whole = fold_case(self.text[start:end])
            self.add(whole, start, end, Kind.WHOLE)
            self.add(whole.replace(".", ""), start, end, Kind.PART)
            return
        while level < len(_BORDERS):
            border = _BORDERS[level]
            level += 1
            if border.search(self.shape, start, end) is None:
                continue
            pieces = self.pieces(border, start, end)
            if not pieces:
                # underscores and borders alone
                return
            if len(pieces) > 1:
                self.add(fold_case(self.text[start:end]), start, end, Kind.WHOLE)
                for piece_start, piece_end in pieces:
                    self.compound(piece_start, piece_end, Kind.PART, level)
                return
            start, end = pieces[0]
        self.leaf(start, end, kind)

    def pieces(self, border: re.Pattern[str], start: int, end: int) -> list[tuple[int, int]]:
        found = []
        position = start
        for match in border.finditer(self.shape, start, end):
            if match.start() > position:
                found.append((position, match.start()))
            position = match.end()
        if position < end:
            found.append((position, end))
        return found

    def leaf(self, start: int, end: int, kind: Kind) -> None:
        """Add a word that no border splits: letters, digits, apostrophes, dots and colons between digits."""
        word = self.text[start:end]
        if word.isascii() and "'" not in word:
            self.found += [
                Segment(token, start + left, start + right, kind if role is None else role)
                for token, left, right, role in _leaves[word]
            ]
        elif "'" in word:
            self.apostrophe(start, end, kind)
        else:
            self.simple(start, end, kind)

    def simple(self, start: int, end: int, kind: Kind) -> None:
        """Add a word of letters and digits."""
        word = self.text[start:end]
        if word.isdigit():
            self.add(word, start, end, kind)
        elif word.isalpha() or MARK in self.shape[start:end]:
            self.letters(start, end, kind)
        else:
            self.mixed(start, end, kind)

    def apostrophe(self, start: int, end: int, kind: Kind) -> None:
        pieces = self.pieces(_APOSTROPHE, start, end)
        lower = fold_case(self.text[start:end])
        if len(pieces) == 2:
            if lower.endswith(_CONTRACTIONS):
                self.leaf(*pieces[0], kind)
                return
            if lower.endswith("n't"):
                self.add(lower, start, end, kind)
                return
        self.add(lower, start, end, Kind.WHOLE)
        for piece_start, piece_end in pieces:
            if piece_end - piece_start > 1:
                self.leaf(piece_start, piece_end, Kind.PART)

    def letters(self, start: int, end: int, kind: Kind) -> None:
        self.plain(start, end, kind)
        if _CAMEL_BORDER.search(self.shape, start, end):
            for piece in _CAMEL.finditer(self.shape, start, end):
                if piece.end() - piece.start() > 1:
                    self.plain(*piece.span(), Kind.PART)

    def plain(self, start: int, end: int, kind: Kind) -> None:
        """Add one word of letters: stemmed when ASCII, else as it is and, if that differs, without accents."""
        word = fold_case(self.text[start:end])
        if word.isascii():
            self.add(stem(word), start, end, kind)
            return
        self.add(word, start, end, kind)
        bare = fold_accents(word)
        if bare != word:
            self.add(stem(bare) if bare.isascii() else bare, start, end, Kind.FOLDED)

    def mixed(self, start: int, end: int, kind: Kind) -> None:
        word = fold_case(self.text[start:end])
        self.add(word, start, end, kind)
        if version := _VERSION.fullmatch(word):
            self.add(version[1], start, end, Kind.PART)
        elif _HEX.fullmatch(word):
            if len(word) > 7:
                self.add(word[:7], start, end, Kind.PART)
        elif parts := _LETTERS_DIGITS.fullmatch(self.shape, start, end):
            for group in range(1, 5):
                if parts[group]:
                    self.leaf(*parts.span(group), Kind.PART)

    def run_of_characters(self, start: int, end: int, spaced: bool) -> None:
        """Add the characters of a run and the pairs of neighbours; of three or more also the Hangul word."""
        clusters = [match.span() for match in _CLUSTER.finditer(self.shape, start, end)]
        text = self.text
        if spaced and len(clusters) > 2:
            self.add(text[start:end], start, end, Kind.WHOLE)
        for index, (left, right) in enumerate(clusters):
            self.add(text[left:right], left, right, Kind.SINGLE)
            if index + 1 < len(clusters):
                until = clusters[index + 1][1]
                self.add(text[left:until], left, until, Kind.PAIR)
        for word in _KATAKANA_WORD.finditer(self.shape, start, end):
            self.add(text[word.start() : word.end()], *word.span(), Kind.WHOLE)


class _Leaves(dict[str, tuple[tuple[str, int, int, Kind | None], ...]]):
    """Cache the tokens of ASCII words that no border splits: token, place in the word, and what it is of it (None:
    what the word is of the whole)."""

    _SIZE, _LENGTH = 32_768, 40

    def __missing__(self, word: str) -> tuple[tuple[str, int, int, Kind | None], ...]:
        cutter = _Cutter(word)
        cutter.simple(0, len(word), Kind.WORD)
        found = tuple(
            (token, start, end, None if kind is Kind.WORD else kind) for token, start, end, kind in cutter.found
        )
        if len(word) <= self._LENGTH:
            if len(self) >= self._SIZE:
                self.clear()
            self[word] = found
        return found


class _LeafTokens(dict[str, tuple[str, ...]]):
    """Cache the tokens alone of what `_Leaves` keeps."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        if word.isdigit():
            found: tuple[str, ...] = (bounded(word),)
        elif word.islower() and word.isalpha():
            found = (bounded(stem(word)),)
        else:
            found = tuple(token for token, *_ in _leaves[word])
        if len(word) <= _Leaves._LENGTH:
            if len(self) >= _Leaves._SIZE:
                self.clear()
            self[word] = found
        return found


_leaves = _Leaves()
_leaf_tokens = _LeafTokens()


def forget_leaves() -> None:
    """Forget the words that were cached."""
    _leaves.clear()
    _leaf_tokens.clear()
