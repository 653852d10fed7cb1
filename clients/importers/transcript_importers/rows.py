"""What reading a log gives: sessions, and rows in the order in which they are to be appended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transcript.v1.event_pb2 import Event
    from transcript.v1.session_pb2 import SessionKind

LISTED_PROBLEMS = 200
"""A broken file may have millions of problems: the first ones are listed, the rest counted."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row to append."""

    event: Event
    replaces: tuple[str, str] | None = None
    """Ids of the first and the last row of the range of the surface that this row takes the place of.

    Whoever reads a log knows ids; only the server knows sequences, and the sender fills them in.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """A session, as far as its log has told."""

    id: str
    kind: SessionKind.ValueType
    parent_session_id: str = ""
    title: str = ""
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Problems:
    """What went wrong while reading, each with its line."""

    listed: list[str] = field(default_factory=list)
    unlisted: int = 0

    def add(self, line: int, what: str) -> None:
        """Notes what is wrong with a line."""
        if len(self.listed) < LISTED_PROBLEMS:
            self.listed.append(f"line {line}: {what}")
        else:
            self.unlisted += 1

    def texts(self) -> tuple[str, ...]:
        """All that is to be shown."""
        return (*self.listed, f"and {self.unlisted} more") if self.unlisted else tuple(self.listed)
