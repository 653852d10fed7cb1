"""Turns, steering and waiting requests: folds over the rows as they lie (rules 7, 8, 10, 25)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from transcript.v1.event_pb2 import Event

from .facts import STEERING, UNSPECIFIED, facts, is_prompt, kind, replaces


@dataclass(frozen=True)
class Turns:
    """How things stand after some rows."""

    latest: int = 0
    first_sequence: int = 0
    running: bool = False
    ended: bool = False
    may_be_declared: bool = False
    last_is_a_tools: bool = False
    prompt: Event | None = None


def fold(rows: Iterable[Event]) -> Turns:
    """How things stand after these rows."""
    turns = Turns()
    for row in rows:
        turns = after(turns, row)
    return turns


def steers(turns: Turns, row: Event) -> bool:
    """Rule 7: whether a user message joins the latest turn instead of starting one."""
    if turns.latest == 0:
        return False
    if row.user_message.origin == STEERING and not turns.ended:
        return True
    return row.user_message.origin == UNSPECIFIED and turns.last_is_a_tools


def starts_turn(turns: Turns, row: Event) -> bool:
    """Whether the row is the first of a new turn."""
    if replaces(row):
        return False
    if kind(row) == "user_message":
        return not turns.running and not steers(turns, row)
    return kind(row) == "turn_started" and not turns.may_be_declared


def ordinal(turns: Turns, row: Event) -> int:
    """The turn that the row belongs to."""
    return turns.latest + starts_turn(turns, row)


def after(turns: Turns, row: Event) -> Turns:
    """How things stand once the row has landed."""
    if replaces(row):
        return turns
    opens = starts_turn(turns, row)
    prompt = None if opens else turns.prompt
    if kind(row) == "user_message" and not steers(turns, row) and prompt is None:
        prompt = row
    running, ended, may_be_declared = turns.running, turns.ended, turns.may_be_declared
    last_is_a_tools = turns.last_is_a_tools
    if opens:
        ended = False
        may_be_declared = kind(row) == "user_message"
    if kind(row) == "turn_started":
        running, ended, may_be_declared = True, False, False
    if kind(row) == "turn_ended":
        running, ended, may_be_declared, last_is_a_tools = False, True, False, False
    if facts(row).agent:
        may_be_declared = False
    if facts(row).agent or facts(row).prompts:
        last_is_a_tools = facts(row).tool
    return Turns(
        latest=turns.latest + opens,
        first_sequence=row.sequence if opens else turns.first_sequence,
        running=running,
        ended=ended,
        may_be_declared=may_be_declared,
        last_is_a_tools=last_is_a_tools,
        prompt=prompt,
    )


@dataclass
class Request:
    """A human request under one id."""

    sequence: int
    turn: int
    answered: bool = False
    retired: bool = False

    @property
    def waits(self) -> bool:
        """Whether a person is still asked."""
        return not self.answered and not self.retired


def requests(rows: Iterable[Event]) -> dict[str, Request]:
    """Rule 10: the latest request under each id, after these rows."""
    table: dict[str, Request] = {}
    for row in rows:
        if kind(row) == "human_request":
            table[row.human_request.request_id] = Request(row.sequence, row.turn)
        elif kind(row) == "human_response":
            table[row.human_response.request_id].answered = True
        elif is_prompt(row) and row.user_message.origin != STEERING:
            for request in table.values():
                request.retired |= request.waits and request.turn < row.turn
    return table


def waiting(rows: Sequence[Event]) -> list[int]:
    """The rows of the requests that wait, oldest first."""
    return sorted(request.sequence for request in requests(rows).values() if request.waits)


def running_prompt(rows: Sequence[Event]) -> Event | None:
    """Rule 25: the latest turn's prompt, unless that turn has ended."""
    turns = fold(rows)
    return None if turns.ended else turns.prompt
