"""What a reader is shown, one block for what they see as one thing: a message, a tool card, a rule.

A block says what happened, not how it looks. Text is the writer's own, untouched; who draws it
makes it safe.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block, and the first row that it was made from."""

    sequence: int = 0
    time: datetime | None = None  # in UTC; when it happened


@dataclass(frozen=True, slots=True)
class Carried:
    """Something that a message carries beside its text."""

    media_type: str
    name: str
    uri: str
    size: int  # bytes; 0 where they are elsewhere or were left out
    data: bytes = field(default=b"", repr=False)


class Speaker(Enum):
    """Who says something."""

    USER = "User"
    STEERING = "User, steering"
    NUDGE = "Nudge"
    AUTOMATION = "Automation"
    AGENT = "Agent"
    NOTE = "Note"
    SUBAGENT = "Background agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(Block):
    """Something said. Its text is Markdown."""

    speaker: Speaker
    text: str
    by: str = ""  # a note's writer, a background agent's name
    carried: tuple[Carried, ...] = ()
    elided_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside(Block):
    """Text that stands beside the conversation and is shortened until asked for: reasoning, a compaction's summary."""

    heading: str
    text: str
    is_folded: bool = False  # shown by its heading alone: written for the model, not part of the conversation
    elided_bytes: int = 0


class Outcome(Enum):
    """What became of a tool call."""

    RUNNING = "running"
    OK = "ok"
    FAILED = "failed"
    NO_RESULT = "no result"
    FURTHER_ON = "result further on"  # not among the rows that were read
    APART = ""  # the result is a block of its own: the journal view


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCard(Block):
    """A tool's call and its result, as one."""

    call_id: str
    name: str = ""  # empty: the call is not among the rows that were read
    arguments_json: str = ""
    outcome: Outcome = Outcome.RUNNING
    output: str = ""
    carried: tuple[Carried, ...] = ()
    exit_code: int | None = None
    seconds: float | None = None
    elided_bytes: int = 0  # of call and result together


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Block):
    """The agent waits for a person, or did."""

    request_id: str
    asks_for: str  # question, approval, feedback
    prompt: str
    options: tuple[str, ...] = ()
    is_open: bool = False
    elided_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Response(Block):
    """How a request ended."""

    request_id: str
    outcome: str  # answered, approved, denied, cancelled
    answer: str
    elided_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure(Block):
    """The agent or the conversation failed."""

    reason: str
    message: str


TIMED = (Message, Request, Response, Failure)
"""What is drawn with its time. Other rows may have none of their own, but that of their import."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule(Block):
    """The seam between two units of work."""

    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Block):
    """Something that happened, in a line."""

    text: str
    cites: int = 0  # a row that the text names, `#48`; 0: none. Other numbers in it are somebody else's words
    is_warning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRun(Block):
    """Records of another system, next to each other."""

    format: str
    types: dict[str, int] = field(default_factory=dict)  # how many of each, in order of appearance

    @property
    def records(self) -> int:
        """How many in all."""
        return sum(self.types.values())

    @property
    def kinds(self) -> str:
        """`progress 12, summary`."""
        return ", ".join(f"{name} {number}" if number > 1 else name for name, number in self.types.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class ForModel(Block):
    """A row that stands in place of others, for the model alone. Shown in the journal view."""

    start_sequence: int
    end_sequence: int
    block: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier(Block):
    """The one control at the top: what lies before the page. Sections, rows, or both."""

    rows: int = 0  # of the journal
    sections: int = 0
    labels: tuple[str, ...] = ()  # of the latest sections
