"""Normalise characters and classify them by the way their script writes words.

A text is analysed chunk by chunk, a chunk being what lies between white space. `normalise` makes one spelling of it,
`shape` replaces every character by one that stands for its class, so that words are found by regular expressions that
need no tables of Unicode ranges.
"""

from __future__ import annotations

import unicodedata
from itertools import pairwise

MARK = "\u0301"
"""Shape of a combining mark."""
HAN = "\u4e00"
"""Shape of ideographs, hiragana and bopomofo."""
KATAKANA = "\u30a2"
HANGUL = "\uac00"
UNSPACED = "\u0e01"
"""Shape of Thai, Lao, Burmese and Khmer letters: scripts that put no space between words."""
EMOJI = "\u263a"
FLAG = "\u2691"
"""Shape of a regional indicator; two of them make a flag."""

_HAN_RANGES = (
    (0x2E80, 0x2FDF),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3041, 0x309F),
    (0x3100, 0x312F),
    (0x31A0, 0x31BF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x1B000, 0x1B16F),
    (0x20000, 0x3FFFF),
)
_KATAKANA_RANGES = ((0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF))
_HANGUL_RANGES = ((0x1100, 0x11FF), (0xA960, 0xA97F), (0xAC00, 0xD7FF))
_UNSPACED_RANGES = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F))
_EMOJI_RANGES = (
    (0x231A, 0x231B),
    (0x23E9, 0x23FA),
    (0x2600, 0x27BF),
    (0x2B1B, 0x2B1C),
    (0x2B50, 0x2B55),
    (0x1F000, 0x1F0FF),
    (0x1F300, 0x1FAFF),
)
_OPTIONAL_RANGES = (
    # Vowel points and the stretching mark, which most writers of Arabic and Hebrew leave out.
    (0x0591, 0x05BD),
    (0x05BF, 0x05BF),
    (0x05C1, 0x05C2),
    (0x05C4, 0x05C5),
    (0x05C7, 0x05C7),
    (0x0610, 0x061A),
    (0x0640, 0x0640),
    (0x064B, 0x0652),
    (0x0670, 0x0670),
    # Variation selectors, the key cap, skin tones.
    (0xFE00, 0xFE0F),
    (0xE0100, 0xE01EF),
    (0x20E3, 0x20E3),
    (0x1F3FB, 0x1F3FF),
)
# Jamo and half-width sound marks compose with what stands before them, though they are no combining marks.
_COMPOSING_RANGES = ((0x1160, 0x11FF), (0x3131, 0x318E), (0xD7B0, 0xD7FF), (0xFF9E, 0xFFDC))
# NFKC would glue these to the word before them: 1½ is not 11/2, Amber™ is not ambertm.
_DETACHED_RANGES = ((0xBC, 0xBE), (0x2150, 0x215F), (0x2189, 0x2189), (0x2460, 0x24FF), (0x2776, 0x2793))

_REPLACED = {
    0x2018: "'",
    0x2019: "'",
    0x201B: "'",
    0x02BC: "'",
    0x2010: "-",
    0x2011: "-",
    0x2212: "-",
    0x2044: "/",
    0x2120: " ",
    0x2122: " ",
    0x200B: " ",
    0x0451: "\u0435",
    0x0401: "\u0415",
}
_UNDECOMPOSED = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "þ": "th", "ð": "d", "ŧ": "t"}
)


def _within(ranges: tuple[tuple[int, int], ...], code: int) -> bool:
    return any(first <= code <= last for first, last in ranges)


class _Cleaning(dict[int, str | None]):
    """Map a code point to what replaces it before and after NFKC; filled as characters are met."""

    def __missing__(self, code: int) -> str | None:
        cleaned: str | None
        if code in _REPLACED:
            cleaned = _REPLACED[code]
        elif _within(_OPTIONAL_RANGES, code):
            cleaned = None
        elif _within(_DETACHED_RANGES, code):
            cleaned = f" {chr(code)} "
        else:
            category = unicodedata.category(chr(code))
            cleaned = None if category == "Cf" else " " if category in ("Cc", "Cs", "Co") else chr(code)
        self[code] = cleaned
        return cleaned


class _Shapes(dict[int, str]):
    """Map a code point to the character that stands for its class; filled as characters are met."""

    def __missing__(self, code: int) -> str:
        self[code] = found = self._classify(code)
        return found

    @staticmethod
    def _classify(code: int) -> str:
        if code < 0x80:
            return chr(code) if 0x20 < code < 0x7F else " "
        for ranges, shape_of_range in _SCRIPTS:
            if _within(ranges, code):
                category = unicodedata.category(chr(code))
                if category[0] == "M":
                    return MARK
                if category == "Nd":
                    return "0"
                return shape_of_range if category[0] in "LN" or category in ("So", "Cn") else " "
        if 0x1F1E6 <= code <= 0x1F1FF:
            return FLAG
        category = unicodedata.category(chr(code))
        if category in ("Lu", "Lt"):
            return "A"
        return {"L": "a", "N": "0", "M": MARK}.get(category[0], " ")


_SCRIPTS = (
    (_HAN_RANGES, HAN),
    (_KATAKANA_RANGES, KATAKANA),
    (_HANGUL_RANGES, HANGUL),
    (_UNSPACED_RANGES, UNSPACED),
    (_EMOJI_RANGES, EMOJI),
)
_CLEANING = _Cleaning()
_SHAPES = _Shapes()


def normalise(chunk: str) -> str:
    """Return the compatibility form (NFKC) of `chunk` without what only decorates it.

    Case is kept. Dropped: format characters, variation selectors, skin tones, Arabic and Hebrew points. Control
    characters, lone surrogates and private characters become blanks.
    """
    if chunk.isascii():
        return chunk
    return unicodedata.normalize("NFKC", chunk.translate(_CLEANING)).translate(_CLEANING)


def normalise_with_offsets(chunk: str) -> tuple[str, list[int]]:
    """Return `normalise(chunk)` and, for each place in it and its end, the place in `chunk` that it came from.

    Where a sequence can not be normalised piece by piece, all of the result comes from the whole of `chunk`.
    """
    normalised = normalise(chunk)
    if normalised == chunk:
        return normalised, list(range(len(chunk) + 1))
    starts = [index for index, char in enumerate(chunk) if index == 0 or _begins_cluster(char)]
    offsets: list[int] = []
    pieces: list[str] = []
    for start, end in pairwise([*starts, len(chunk)]):
        piece = normalise(chunk[start:end])
        pieces.append(piece)
        offsets += [start] * len(piece)
    if "".join(pieces) != normalised:
        offsets = [0] * len(normalised)
    return normalised, [*offsets, len(chunk)]


def _begins_cluster(char: str) -> bool:
    return char.isascii() or not (
        unicodedata.category(char) in ("Mn", "Mc", "Me", "Cf", "Sk") or _within(_COMPOSING_RANGES, ord(char))
    )


def continues(char: str) -> bool:
    """Tell whether `char` belongs to the character before it, so that no cut may fall between them."""
    return not _begins_cluster(char)


def shape(normalised: str) -> str:
    """Return a string of the same length in which each character stands for the class of the original.

    ASCII is itself, other letters are `a` or `A`, numbers `0`, marks and scripts the constants of this module, all
    else a blank.
    """
    return normalised.translate(_SHAPES)


def fold_case(word: str) -> str:
    """Return `word` without case differences, composed."""
    return word.lower() if word.isascii() else unicodedata.normalize("NFC", word.casefold())


def fold_accents(word: str) -> str:
    """Return a case-folded Latin or Greek word without accents; words of other scripts are returned as they are."""
    decomposed = unicodedata.normalize("NFD", word)
    if not (decomposed[0] < "\u0400" or "\u1e00" <= decomposed[0] < "\u2000"):
        return word
    bare = "".join(char for char in decomposed if unicodedata.category(char) != "Mn")
    return bare.translate(_UNDECOMPOSED) or word
