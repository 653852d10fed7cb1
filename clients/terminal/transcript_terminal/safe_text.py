"""Text that somebody else wrote, made safe to send to a terminal.

Terminal escapes are dropped with what they carry, a carriage return becomes a line break, and
characters that reorder or hide text are shown as what they are: `\\u{202e}`. Nothing else changes,
so that text which needs no mending comes back as it went in.
"""

from __future__ import annotations

import re

_CONTROL = r"\x00-\x1f\x7f-\x9f"
# Each branch stops at the next control character, so that the time is linear in the text's length.
_ESCAPES = re.compile(
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])"  # OSC, DCS, SOS, PM, APC ...
    rf"[^{_CONTROL}]*(?:\x07|\x1b\\|\x9c)"  # ... with the string they carry
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movements
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"  # the short ones
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"  # whatever is left of them, and other controls
)
_LINE_ENDS = re.compile(r"\r\n?")
_SHOWN = re.compile(
    "["
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff"
    "]"
)
_JOINER = "\u200d"
_VARIANT = "\ufe0f"


def safe(text: str) -> str:
    """The text without anything that a terminal would act upon."""
    if text.isascii() and text.isprintable():
        return text
    text = _ESCAPES.sub("", _LINE_ENDS.sub("\n", text))
    return _SHOWN.sub(_shown, text)


def _shown(match: re.Match[str]) -> str:
    character = match[0]
    if character == _JOINER and _joins_emoji(match.string, match.start()):
        return character
    return f"\\u{{{ord(character):04x}}}"


def _joins_emoji(text: str, at: int) -> bool:
    before = at - 2 if text[at - 1 : at] == _VARIANT else at - 1
    return before >= 0 and _is_emoji(text[before]) and _is_emoji(text[at + 1 : at + 2])


def _is_emoji(character: str) -> bool:
    """Whether it lies in a block of pictures: those that emoji sequences join."""
    return bool(character) and ("\u2190" <= character <= "\u2bff" or "\U0001f000" <= character <= "\U0001faff")
