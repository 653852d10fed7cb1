"""Which characters a line of text may hold: labels, sources, titles and ids (rule 11).

A label is drawn as a rule across a transcript and read as a heading, so nothing may hide in it: no control,
bidi, invisible, tag or unassigned character, no separator of lines or paragraphs. Zero-width joiners and
variation selectors stand only where emoji need them.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_ZWJ: Final = "\u200d"
_VARIATION_SELECTORS: Final = range(0xFE00, 0xFE10)
_SKIN_TONES: Final = range(0x1F3FB, 0x1F400)
# Control, format, surrogate, private use, unassigned; line and paragraph separators.
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Ignorable by default (Unicode, DerivedCoreProperties), yet of a visible category: joiners, fillers, selectors.
_IGNORABLE: Final = frozenset(
    [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x3164, 0xFFA0, *range(0xE0100, 0xE01F0)]
)
# Extended_Pictographic (Unicode, emoji-data): what may stand on either side of a joiner. The emoji planes in one.
_PICTOGRAPHS: Final = frozenset(
    [
        0xA9, 0xAE, 0x203C, 0x2049, 0x2122, 0x2139, *range(0x2194, 0x219A), 0x21A9, 0x21AA, 0x231A, 0x231B, 0x2328,
        0x2388, 0x23CF, *range(0x23E9, 0x23F4), *range(0x23F8, 0x23FB), 0x24C2, 0x25AA, 0x25AB, 0x25B6, 0x25C0,
        *range(0x25FB, 0x25FF), *range(0x2600, 0x2606), *range(0x2607, 0x2613), *range(0x2614, 0x2686),
        *range(0x2690, 0x2706), *range(0x2708, 0x2713), 0x2714, 0x2716, 0x271D, 0x2721, 0x2728, 0x2733, 0x2734,
        0x2744, 0x2747, 0x274C, 0x274E, *range(0x2753, 0x2756), 0x2757, *range(0x2763, 0x2768),
        *range(0x2795, 0x2798), 0x27A1, 0x27B0, 0x27BF, 0x2934, 0x2935, *range(0x2B05, 0x2B08), 0x2B1B, 0x2B1C,
        0x2B50, 0x2B55, 0x3030, 0x303D, 0x3297, 0x3299, *range(0x1F000, 0x1F1E6), *range(0x1F200, 0x1F3FB),
        *range(0x1F400, 0x1FB00),
    ]
)  # fmt: skip

_BREAKING_CATEGORIES: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
_BIDI_CONTROLS: Final = frozenset([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SESSION_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def hidden_character(text: str) -> int | None:
    """The index of the first character that a line for display may not hold; none if all may stand."""
    for index, character in enumerate(text):
        if character == _ZWJ:
            if not _joins_pictographs(text, index):
                return index
        elif ord(character) in _VARIATION_SELECTORS:
            if not _follows_visible(text, index):
                return index
        elif unicodedata.category(character) in _HIDDEN_CATEGORIES or ord(character) in _IGNORABLE:
            return index
    return None


def line_fault(text: str, limit: int) -> str | None:
    """What is wrong with a line for display of at most `limit` code points, already in NFC; none if nothing is."""
    if len(text) > limit:
        return f"has {len(text)} code points, at most {limit} are allowed"
    if (index := hidden_character(text)) is not None:
        return f"has the character U+{ord(text[index]):04X} at {index}, which is a control, invisible or unassigned one"
    return None


def title_fault(text: str, limit: int) -> str | None:
    """What is wrong with a title of at most `limit` code points; none if nothing is.

    Titles come from other programs' logs: only what would break a line or turn its direction is refused.
    """
    if len(text) > limit:
        return f"has {len(text)} code points, at most {limit} are allowed"
    for character in text:
        if unicodedata.category(character) in _BREAKING_CATEGORIES or ord(character) in _BIDI_CONTROLS:
            return f"has the character U+{ord(character):04X}, a control or bidi one"
    return None


def normalised(text: str) -> str:
    """A line for display in Unicode's composed form (NFC)."""
    return unicodedata.normalize("NFC", text)


def id_fault(value: str, limit: int) -> str | None:
    """What is wrong with an id of at most `limit` bytes; none if nothing is. No control characters."""
    if (size := len(value.encode())) > limit:
        return f"has {size} bytes, at most {limit} are allowed"
    if _CONTROL.search(value) is not None:
        return "has a control character"
    return None


def session_id_fault(value: str, limit: int) -> str | None:
    """What is wrong with a session's id; none if nothing is."""
    if not value:
        return "is required"
    if len(value) > limit:
        return f"has {len(value)} characters, at most {limit} are allowed"
    if _SESSION_ID.fullmatch(value) is None:
        return "may hold A-Z a-z 0-9 . _ - and begins with a letter or digit"
    return None


def _follows_visible(text: str, index: int) -> bool:
    """Whether a variation selector has a character to vary: one, and not a space, a joiner or another selector."""
    if index == 0:
        return False
    before = text[index - 1]
    return before != _ZWJ and ord(before) not in _VARIATION_SELECTORS and unicodedata.category(before) != "Zs"


def _joins_pictographs(text: str, index: int) -> bool:
    before = index - 1
    while before >= 0 and (ord(text[before]) in _VARIATION_SELECTORS or ord(text[before]) in _SKIN_TONES):
        before -= 1
    return before >= 0 and index + 1 < len(text) and _is_pictograph(text[before]) and _is_pictograph(text[index + 1])


def _is_pictograph(character: str) -> bool:
    return ord(character) in _PICTOGRAPHS
