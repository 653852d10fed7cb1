"""Rule 11's characters: every code point, and the few that may stand in some places alone."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from semantics.world import examples

from transcript_server.rules.text import (
    hidden_character,
    id_fault,
    line_fault,
    normalised,
    session_id_fault,
    title_fault,
)

ZWJ = "\u200d"
EMOJI_STYLE, TEXT_STYLE = "\ufe0f", "\ufe0e"


def code_points(*ranges: tuple[int, int]) -> set[int]:
    """Ranges of code points, both ends included."""
    return {number for first, last in ranges for number in range(first, last + 1)}


CONTROLS = code_points((0x00, 0x1F), (0x7F, 0x9F))
BIDI = code_points((0x61C, 0x61C), (0x200E, 0x200F), (0x202A, 0x202E), (0x2066, 0x2069))
ZERO_WIDTH = code_points(
    (0xAD, 0xAD), (0x180E, 0x180E), (0x200B, 0x200D), (0x2060, 0x2064), (0x206A, 0x206F), (0xFEFF, 0xFEFF)
)
TAGS = code_points((0xE0001, 0xE0001), (0xE0020, 0xE007F))
SEPARATORS = code_points((0x2028, 0x2029))
SURROGATES = code_points((0xD800, 0xDFFF))
# Ignorable by default, and of a category whose other characters are seen.
FILLERS = code_points(
    (0x34F, 0x34F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180D), (0x180F, 0x180F), (0x3164, 0x3164),
    (0xFFA0, 0xFFA0), (0xE0100, 0xE01EF),
)  # fmt: skip
SELECTORS = code_points((0xFE00, 0xFE0F))
SEEN = "LMNPSZ"
"""Categories, by their first letter, of characters that are drawn: letters to symbols, and spaces."""

JOINED_EMOJI = {
    "family": "👨‍👩‍👧‍👦",
    "couple with heart": "👩‍❤️‍👨",
    "kiss, skin tones on both sides": "🧑🏿‍❤️‍💋‍🧑🏻",
    "flag with rainbow": "🏳️‍🌈",
    "pirate flag": "🏴‍☠️",
    "astronaut with a skin tone": "👩🏽‍🚀",
    "health worker": "🧑‍⚕️",
    "eye in a speech bubble": "👁️‍🗨️",
    "polar bear": "🐻‍❄️",
    "black cat": "🐈‍⬛",
    "heart on fire": "❤️‍🔥",
    "head that nods": "🙂‍↕️",
    "running to the right": "🏃🏿‍♂️‍➡️",
    "broken chain": "⛓️‍💥",
}


def test_rule_11_every_code_point_is_refused_or_accepted_as_it_is_seen_or_not() -> None:
    """All 1,114,112: those that are not seen each by itself, those that are seen in one label."""
    never = FILLERS | SELECTORS | SEPARATORS
    seen, unseen = [], []
    for character in map(chr, range(sys.maxunicode + 1)):
        is_seen = unicodedata.category(character)[0] in SEEN and ord(character) not in never
        (seen if is_seen else unseen).append(character)

    assert hidden_character("".join(seen)) is None
    assert [character for character in unseen if hidden_character(character) != 0] == []
    assert len(seen) + len(unseen) == 1_114_112
    assert {*map(chr, CONTROLS | BIDI | ZERO_WIDTH | TAGS | SURROGATES)} <= {*unseen}


def test_rule_11_a_refused_code_point_is_refused_wherever_it_stands() -> None:
    """The first of them is told, by its number and its place."""
    for number in sorted(CONTROLS | BIDI | ZERO_WIDTH | TAGS | SEPARATORS | FILLERS):
        assert hidden_character(f"ab{chr(number)}c") == 2, hex(number)

    assert line_fault("ab\u202ec\u202e", 120) == (
        "has the character U+202E at 2, which is a control, invisible or unassigned one"
    )


@pytest.mark.parametrize(
    "text", ["Einführung", "第一章 — 計画", "الفصل الأول", "अध्याय १", "Глава №1", "a b c", "„x“ — y"]
)
def test_rule_11_writing_of_all_kinds_may_stand(text: str) -> None:
    """Labels are people's words, spaces and marks included."""
    assert line_fault(normalised(text), 120) is None


@pytest.mark.parametrize("emoji", JOINED_EMOJI.values(), ids=JOINED_EMOJI)
def test_rule_11_a_joiner_may_stand_inside_an_emoji_sequence(emoji: str) -> None:
    """Between two pictographs, past a skin tone and a variation selector."""
    assert ZWJ in emoji
    assert normalised(emoji) == emoji
    assert line_fault(f"on {emoji}: done", 120) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (ZWJ, 0),
        (f"a{ZWJ}b", 1),
        (f"{ZWJ}👩", 0),
        (f"👩{ZWJ}", 1),
        (f"👩{ZWJ}a", 1),
        (f"a{ZWJ}👩", 1),
        (f"👩{ZWJ}{ZWJ}👩", 1),
        (f"👩 {ZWJ}👩", 2),
        (f"🏽{ZWJ}👩", 1),
        (f"1{EMOJI_STYLE}{ZWJ}👩", 2),
        (f"क्{ZWJ}ष", 2),
    ],
)
def test_rule_11_a_joiner_elsewhere_is_refused(text: str, place: int) -> None:
    """Alone, at an end, doubled, or beside what is no pictograph."""
    assert hidden_character(text) == place


@pytest.mark.parametrize("character", ["─", "∑", "→", "⠿", "◯", "①"])
def test_rule_11_a_joiner_between_symbols_that_are_no_emoji_is_refused(character: str) -> None:
    """A line, a sum or an arrow takes part in no emoji sequence, so a joiner there is hidden."""
    assert hidden_character(f"{character}{ZWJ}{character}") == 1


@pytest.mark.parametrize("text", [f"❤{EMOJI_STYLE}", f"❤{TEXT_STYLE}", f"1{EMOJI_STYLE}\u20e3", f"a{EMOJI_STYLE}"])
def test_rule_11_a_variation_selector_may_follow_what_it_varies(text: str) -> None:
    """One, after a character that is seen."""
    assert hidden_character(text) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (EMOJI_STYLE, 0),
        (f"a {EMOJI_STYLE}", 2),
        (f"❤{EMOJI_STYLE}{EMOJI_STYLE}", 2),
        (f"❤{EMOJI_STYLE}{TEXT_STYLE}", 2),
        (f"👩{ZWJ}{EMOJI_STYLE}👩", 1),
    ],
)
def test_rule_11_a_variation_selector_that_varies_nothing_is_refused(text: str, place: int) -> None:
    """Any number of invisible characters could be hidden in a label otherwise."""
    assert hidden_character(text) == place


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u3000"], ids=["no-break", "em", "ideographic"])
def test_rule_11_a_variation_selector_after_any_space_is_refused(space: str) -> None:
    """No space has a variation, whichever it is."""
    assert hidden_character(f"a{space}{EMOJI_STYLE}") == 2


def test_rule_11_a_label_is_counted_in_code_points_of_its_normal_form() -> None:
    """What composes counts once; what must not stay composed counts as what it becomes."""
    assert line_fault(normalised("e\u0301" * 120), 120) is None
    assert line_fault(normalised("e\u0301" * 121), 120) == "has 121 code points, at most 120 are allowed"
    assert line_fault(normalised("\u0958" * 61), 120) == "has 122 code points, at most 120 are allowed"


@examples(50)
@given(st.text(max_size=30))
def test_rule_11_the_character_that_is_told_is_the_first_refused(text: str) -> None:
    """What stands before it would stand as a label, unless it ends in a joiner's half."""
    place = hidden_character(text)
    if place is None:
        assert all(unicodedata.category(character)[0] in SEEN or character == ZWJ for character in text)
    else:
        assert hidden_character(text[: place + 1]) == place
        assert ZWJ in text[:place] or hidden_character(text[:place]) is None


def test_a_title_is_refused_what_breaks_a_line_or_turns_its_direction_and_nothing_else() -> None:
    """All 1,114,112 code points: titles come from other programs' logs."""
    refused = CONTROLS | BIDI | SEPARATORS | SURROGATES
    others = "".join(chr(number) for number in range(sys.maxunicode + 1) if number not in refused)

    assert title_fault(others, len(others)) is None
    assert [number for number in sorted(refused) if title_fault(chr(number), 200) is None] == []


def test_a_title_is_counted_in_code_points() -> None:
    """At most as many as the limit says."""
    assert title_fault("é" * 200, 200) is None
    assert title_fault("é" * 201, 200) == "has 201 code points, at most 200 are allowed"


def test_an_id_is_counted_in_bytes_and_holds_no_control_character() -> None:
    """Anything else may stand in a row's id, which its writer chose."""
    assert id_fault("é" * 64, 128) is None
    assert id_fault("é" * 64 + "a", 128) == "has 129 bytes, at most 128 are allowed"
    assert id_fault("", 128) is None
    assert {number for number in range(0x2000) if id_fault(chr(number), 128) is not None} == CONTROLS


@pytest.mark.parametrize("session_id", ["a", "0", "A.b_c-d", "0190-x", "a" * 128])
def test_a_session_id_of_its_alphabet_is_one(session_id: str) -> None:
    """1 to 128 characters, the first a letter or a digit."""
    assert session_id_fault(session_id, 128) is None


@pytest.mark.parametrize(
    "session_id",
    ["", ".a", "-a", "_a", "a b", "a/b", "a\n", "é", "a" * 129, "a\0", "٣", "a%2e"],
)
def test_a_session_id_of_anything_else_is_none(session_id: str) -> None:
    """It stands in addresses and file names, and is compared byte by byte."""
    assert session_id_fault(session_id, 128) is not None
