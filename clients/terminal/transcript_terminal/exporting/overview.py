"""What stands above an exported session: its name, how much there is of it, and its sections."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from transcript_terminal.outline.amounts import count

if TYPE_CHECKING:
    from transcript import Client
    from transcript.v1.session_pb2 import Session


@dataclass(frozen=True, slots=True)
class Contents:
    """A section, for a table of contents."""

    sequence: int
    label: str
    is_opening: bool
    """Whether it is what lies before the first marker."""


@dataclass(frozen=True, slots=True)
class Overview:
    """A session as of a row."""

    title: str
    facts: tuple[str, ...]
    sections: tuple[Contents, ...]
    """Empty where no marker parts the session."""

    @property
    def has_opening(self) -> bool:
        """Whether there is something before the first marker."""
        return bool(self.sections) and self.sections[0].is_opening


async def overview(client: Client, session: Session, at: int) -> Overview:
    """The overview of a session's rows 1 to *at*."""
    found = [
        Contents(section.first_sequence, section.marker.label, not section.HasField("marker"))
        async for section in client.sections(session.id)
        if section.first_sequence <= at
    ]
    facts = [session.id] * bool(session.title)
    if at == session.latest_sequence:
        facts += [count(session.latest_turn, "turn"), count(session.message_count, "message"), count(at, "row")]
    else:
        facts += [f"as of row {at:,} of {session.latest_sequence:,}"]
    # Both names of a zone that has two: which one holds differs from row to row.
    facts.append(f"times in {'/'.join(dict.fromkeys(time.tzname))}")
    return Overview(
        title=session.title or session.id,
        facts=tuple(facts),
        sections=() if all(section.is_opening for section in found) else tuple(found),
    )
