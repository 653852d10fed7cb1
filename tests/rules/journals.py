"""A journal in a test's own hands: rows are planned and landed as a store would, and nothing is stored."""

from __future__ import annotations

from dataclasses import dataclass, field

from transcript.v1.event_pb2 import Event
from transcript_server.rules.turns import Flag, Landing, Plan, Turns, interruption, plan


@dataclass
class Journal:
    """Rows, where turns stand after them, and what is held."""

    turns: Turns = field(default_factory=Turns)
    landed: list[Landing] = field(default_factory=list)
    held: list[Event] = field(default_factory=list)

    def append(self, *events: Event, expired: bool = False, as_recorded: bool = False) -> Plan:
        """Takes the rows of one append."""
        planned = plan(
            self.turns,
            len(self.landed),
            [*enumerate(events)],
            held=self.held,
            expired=expired,
            as_recorded=as_recorded,
            write_turn_ended=interruption,
        )
        self.turns = planned.turns
        self.landed += planned.landings
        self.held = [event for event, _ in planned.held]
        return planned

    @property
    def ordinals(self) -> list[int]:
        """The turn of every row."""
        return [landing.turn for landing in self.landed]

    @property
    def kinds(self) -> list[str]:
        """The kind of every row."""
        return [landing.kind.name for landing in self.landed]

    def with_flag(self, flag: Flag) -> list[int]:
        """The sequences of the rows that have a flag."""
        return [landing.sequence for landing in self.landed if flag in landing.flags]


def of(*events: Event) -> Journal:
    """A journal of rows that were appended one by one."""
    journal = Journal()
    for event in events:
        journal.append(event)
    return journal
