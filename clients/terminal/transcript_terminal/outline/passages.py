"""What is drawn, without how: words with the tone they are said in. One drawing for pipes, one for terminals."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Tone(Enum):
    """How something is meant; a drawing gives each a colour, or none."""

    PLAIN = "plain"
    STRONG = "strong"
    DIM = "dim"
    USER = "user"
    AGENT = "agent"
    OTHER = "other"
    GOOD = "good"
    BAD = "bad"
    WAITING = "waiting"


class Form(Enum):
    """What kind of text a passage's body is."""

    TEXT = "text"
    MARKDOWN = "markdown"


@dataclass(frozen=True, slots=True)
class Span:
    """Words on one line. Untrusted: the drawing makes them safe."""

    text: str
    tone: Tone = Tone.PLAIN
    gives_way: bool = False  # may be shortened on a terminal so that the line fits
    keeps_end: bool = False  # and its end tells more than its beginning, as a path's does


@dataclass(frozen=True, slots=True)
class Passage:
    """One thing to draw: a line, and what stands under it."""

    head: tuple[Span, ...]
    body: str = ""
    form: Form = Form.TEXT
    tone: Tone = Tone.PLAIN  # of the body
    after: tuple[Span, ...] = ()  # lines under the body
    is_rule: bool = False  # the head is a heading within a rule
    is_tight: bool = False  # no empty line between it and a tight neighbour
