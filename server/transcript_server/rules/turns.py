"""Turns: which one a row belongs to, and what is held back while one runs (rules 7, 8 and 9).

`Turns` is the state that a journal's rows amount to; it changes by nothing but `land`. `plan` decides, for
the rows of one append, what lands in which order: the rows themselves, the `TurnEnded` that the server writes
before what interrupts a running turn, and the held rows that a turn's end lets go.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from transcript.v1.event_pb2 import Event, TurnEnded, UserMessage
from transcript_server.rules.facts import KINDS, Kind, kind_of
from transcript_server.rules.limits import HELD_ROWS

TURN_STARTED: Final = KINDS["turn_started"]
TURN_ENDED: Final = KINDS["turn_ended"]
USER_MESSAGE: Final = KINDS["user_message"]


class Flag(enum.IntFlag):
    """What a store's index says of a stored row; follows from the row and the rows before it."""

    HUMAN = enum.auto()
    """Part of the human transcript: no replacement, or a checkpoint."""
    KEPT = enum.auto()
    """Human, and kept in the compact view of an older turn."""
    MESSAGE = enum.auto()
    """Human, and counts toward a compact page."""
    OPENS = enum.auto()
    """The first row of its turn."""
    DECLARES = enum.auto()
    """A TurnStarted: from here the turn runs."""
    ENDS = enum.auto()
    """A TurnEnded."""
    PROMPT = enum.auto()
    """Its turn's prompt: the first user message of the turn that does not steer."""
    PROMPTS = enum.auto()
    """A prompt, steering or not: it moves the session's last_prompt_at."""
    RETIRES = enum.auto()
    """A prompt that retires the waiting requests of earlier turns."""
    STATED = enum.auto()
    """A prompt appended as recorded elsewhere: last_prompt_at moves to its time."""
    AGENT = enum.auto()
    """Of an agent kind, and no replacement."""
    TOOL = enum.auto()
    """Of a tool kind, and no replacement."""


@dataclass(slots=True)
class Turns:
    """Where a journal's turns stand after its last row."""

    turn: int = 0
    """Ordinal of the latest turn; 0 before the first."""
    start: int = 0
    """Sequence of that turn's first row."""
    running: bool = False
    """Whether a declared turn is running."""
    ended: bool = False
    """Whether a TurnEnded came since the latest turn began."""
    after_tool: bool = False
    """Whether the last row of a prompting or agent kind since the last TurnEnded is a tool's."""
    declarable: bool = False
    """Whether a TurnStarted would declare the latest turn instead of opening one."""
    prompted: bool = False
    """Whether the latest turn has its prompt."""

    def land(self, event: Event, kind: Kind, sequence: int) -> Flag:
        """Takes a row as the journal's next one.

        Returns:
            The row's flags. Its turn is `self.turn` afterwards.
        """
        if event.surface.HasField("replace"):
            return Flag(0) if kind.name != "compaction_checkpoint" else Flag.HUMAN | Flag.KEPT
        flags = Flag.HUMAN
        if kind.kept:
            flags |= Flag.KEPT
        if kind.message:
            flags |= Flag.MESSAGE
        if kind is USER_MESSAGE:
            flags |= self._take_user_message(event.user_message, sequence)
        elif kind is TURN_STARTED:
            flags |= self._take_turn_started(sequence)
        elif kind is TURN_ENDED:
            self.running = self.after_tool = self.declarable = False
            self.ended = True
            flags |= Flag.ENDS
        elif kind.agent:
            self.declarable = False
            self.after_tool = kind.tool
            flags |= Flag.AGENT
            if kind.tool:
                flags |= Flag.TOOL
        return flags

    def steers(self, message: UserMessage) -> bool:
        """Whether a user message, landing now, steers the latest turn."""
        if not self.turn:
            return False
        if message.origin == UserMessage.ORIGIN_STEERING:
            return not self.ended
        return message.origin == UserMessage.ORIGIN_UNSPECIFIED and self.after_tool

    def _take_user_message(self, message: UserMessage, sequence: int) -> Flag:
        flags = Flag.PROMPTS
        if not self.steers(message):
            if not self.running:
                self._open(sequence)
                self.declarable = True
                flags |= Flag.OPENS
            if not self.prompted:
                self.prompted = True
                flags |= Flag.PROMPT
        self.after_tool = False
        if message.origin != UserMessage.ORIGIN_STEERING:
            flags |= Flag.RETIRES
        return flags

    def _take_turn_started(self, sequence: int) -> Flag:
        flags = Flag.DECLARES
        if not self.declarable:
            self._open(sequence)
            flags |= Flag.OPENS
        self.declarable = False
        self.running = True
        return flags

    def _open(self, sequence: int) -> None:
        self.turn += 1
        self.start = sequence
        self.ended = self.prompted = False


@dataclass(slots=True)
class Landing:
    """A row that an append puts into the journal."""

    event: Event
    kind: Kind
    sequence: int
    turn: int
    flags: Flag
    origin: int | None
    """Its index in the append; none for a row that the server wrote, or that was held by an earlier append."""


@dataclass(slots=True)
class Plan:
    """What an append does to the journal."""

    turns: Turns
    landings: list[Landing] = field(default_factory=list)
    held: list[tuple[Event, int | None]] = field(default_factory=list)
    """What is held afterwards, in order of asking, each with its index in the append."""
    overfull: bool = False
    """Whether an eleventh row would have been held: the append is refused."""


def plan(
    turns: Turns,
    tip: int,
    events: Sequence[tuple[int, Event]],
    *,
    held: Sequence[Event] = (),
    expired: bool = False,
    as_recorded: bool = False,
    write_turn_ended: Callable[[], Event],
) -> Plan:
    """Decides what the rows of one append do.

    Args:
        turns: Where turns stand; not changed.
        tip: The journal's last row.
        events: The rows, each with its index in the append.
        held: What earlier appends left held, in order of asking.
        expired: Whether the running turn lies past its deadline: it is interrupted first.
        as_recorded: Whether the rows state what happened elsewhere: none is held then.
        write_turn_ended: Makes the row by which the server ends a turn as interrupted.
    """
    plan = Plan(replace(turns), held=[(event, None) for event in held])

    def land(event: Event, kind: Kind, origin: int | None) -> None:
        sequence = tip + len(plan.landings) + 1
        flags = plan.turns.land(event, kind, sequence)
        if as_recorded and Flag.PROMPTS in flags:
            flags |= Flag.STATED
        plan.landings.append(Landing(event, kind, sequence, plan.turns.turn, flags, origin))

    def end(event: Event, origin: int | None) -> None:
        lets_go = plan.turns.running
        land(event, TURN_ENDED, origin)
        if lets_go:
            for row, row_origin in plan.held:
                land(row, known_kind(row), row_origin)
            plan.held.clear()

    if expired:
        end(write_turn_ended(), None)
    for position, (index, event) in enumerate(events):
        kind = known_kind(event)
        following = events[position + 1][1] if position + 1 < len(events) else None
        if plan.turns.running and _interrupts(event, kind, following):
            end(write_turn_ended(), None)
        if kind is TURN_ENDED:
            end(event, index)
        elif kind.held and plan.turns.running and not as_recorded and not event.surface.HasField("replace"):
            plan.held.append((event, index))
            plan.overfull |= len(plan.held) > HELD_ROWS
        else:
            land(event, kind, index)
    return plan


def interruption() -> Event:
    """The payload of a turn's end as the server writes it."""
    return Event(turn_ended=TurnEnded(outcome=TurnEnded.OUTCOME_INTERRUPTED))


def known_kind(event: Event) -> Kind:
    """The kind of a row that intake let in."""
    kind = kind_of(event)
    if kind is None:
        raise ValueError("a row without a known kind got past intake")
    return kind


def _interrupts(event: Event, kind: Kind, following: Event | None) -> bool:
    """Whether a row ends a running turn: a TurnStarted, or the prompt that one declares (rule 8)."""
    if kind is TURN_STARTED:
        return True
    return (
        kind is USER_MESSAGE
        and not event.surface.HasField("replace")
        and event.user_message.origin != UserMessage.ORIGIN_STEERING
        and following is not None
        and following.HasField("turn_started")
    )
