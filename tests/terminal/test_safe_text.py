"""Nothing that somebody else wrote is acted upon by a terminal."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript_terminal.safe_text import safe

FORBIDDEN = {*range(0x20), *range(0x7F, 0xA0)} - {ord("\n"), ord("\t")}
INVISIBLE = "\u200b\u200c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\u061c"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain text\n\twith a tab", "plain text\n\twith a tab"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hgone", "gone"),
        ("\x1b]0;a title\x07text", "text"),
        ("\x1b]52;c;c2VjcmV0\x1b\\text", "text"),
        ("\x1b]8;;http://evil.example\x1b\\a link\x1b]8;;\x1b\\", "a link"),
        ("\x9d0;a title\x9ctext", "text"),
        ("\x1bPq#0\x1b\\text", "text"),
        ("\x1b_an application's\x1b\\text", "text"),
        ("\x9b31mred", "red"),
        ("\x1b(Btext\x1b=\x1bc", "text"),
        ("100 %\rdone", "100 %\ndone"),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        ("bell\x07 back\x08space null\x00 delete\x7f", "bell backspace null delete"),
        ("user\u202egnp.exe", "user\\u{202e}gnp.exe"),
        ("zero\u200bwidth", "zero\\u{200b}width"),
        ("a\u2028b", "a\\u{2028}b"),
        ("tag\U000e0041", "tag\\u{e0041}"),
        ("a\u200db", "a\\u{200d}b"),
        ("👩\u200d💻 and ❤\ufe0f\u200d🔥", "👩\u200d💻 and ❤\ufe0f\u200d🔥"),
        ("名前 ñ é ß", "名前 ñ é ß"),
        ("half a pair \ud800", "half a pair \\u{d800}"),
    ],
)
def test_escapes_go_and_what_hides_is_shown(written: str, shown: str) -> None:
    assert safe(written) == shown


def test_a_sequence_without_an_end_hides_no_text() -> None:
    """Only the introducer goes: a terminal would have swallowed all the rest."""
    assert safe("\x1b]0;the rest of the message\nand its next line") == "]0;the rest of the message\nand its next line"
    assert safe("\x1b[12") == "[12"


def test_what_is_left_after_dropping_is_no_escape() -> None:
    assert safe("\x1b\x1b[31m[31m") == "[31m"
    assert "\x1b" not in safe("\x1b[\x1b[31m31m")


def test_a_hundred_thousand_code_points_leave_no_control() -> None:
    """Each alone, and in long random texts of those that are dangerous together."""
    chosen = random.Random(20261124)
    for code in [*range(0x3000), *(chosen.randrange(0x110000) for _ in range(100_000 - 0x3000))]:
        assert not FORBIDDEN.intersection(map(ord, safe(f"a{chr(code)}b"))), hex(code)
    dangerous = "\x1b\x9b\x9d\x90\x98\x9e\x9f\x9c\x07\r[]PX^_\\0;m?c " + INVISIBLE
    for _ in range(2_000):
        text = "".join(chosen.choices(dangerous, k=50))
        assert not FORBIDDEN.intersection(map(ord, safe(text))), repr(text)
        assert not set(INVISIBLE).intersection(safe(text)), repr(text)


@given(st.text())
def test_text_that_is_safe_stays_as_it_is(text: str) -> None:
    once = safe(text)

    assert safe(once) == once
    once.encode()


@pytest.mark.parametrize("piece", ["\x1b]", "\x9d", "\x1b[0", "\x1bP", "\x9b", "\u200d", "\ufe0f\u200d", "\r"])
def test_the_time_is_linear_in_the_length(piece: str) -> None:
    began = time.perf_counter()
    safe(piece * 200_000)

    assert time.perf_counter() - began < 5
