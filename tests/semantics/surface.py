"""The model's surface, folded row by row from the start each time (rules 23 to 26)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import grpc

from transcript.v1.event_pb2 import Event

from .facts import facts, kind
from .refused import Refused


def apply(surface: Sequence[Event], row: Event) -> list[Event]:
    """The surface once `row` has landed; refused where the row names what is not there."""
    operation = row.surface.WhichOneof("op")
    if operation == "append":
        return [*surface, row]
    if operation == "replace":
        sequences = [event.sequence for event in surface]
        first, last = row.surface.replace.start_sequence, row.surface.replace.end_sequence
        if first not in sequences or last not in sequences or sequences.index(first) > sequences.index(last):
            raise bad_range(start_sequence=first, end_sequence=last)
        return [*surface[: sequences.index(first)], row, *surface[sequences.index(last) + 1 :]]
    if kind(row) == "context_reset":
        return []
    if kind(row) == "rewind":
        target = row.rewind.after_sequence
        if target == 0:
            return []
        sequences = [event.sequence for event in surface]
        if target not in sequences:
            raise bad_range(after_sequence=target)
        return list(surface[: sequences.index(target) + 1])
    return list(surface)


def fold(rows: Iterable[Event]) -> list[Event]:
    """The surface after these rows."""
    surface: list[Event] = []
    for row in rows:
        surface = apply(surface, row)
    return surface


def touched_pairs(before: Sequence[Event], after: Sequence[Event]) -> set[int]:
    """Rows of calls of which a replacement took a row off, and that had their other half before."""
    gone = {event.sequence for event in before} - {event.sequence for event in after}
    touched = {call_id(event) for event in before if event.sequence in gone}
    return {event.sequence for event in before if call_id(event) in touched} & paired(before)


def paired(surface: Sequence[Event]) -> set[int]:
    """The tool rows that have their other half: calls with a result behind them, results with a call before them."""
    found = set()
    for place, event in enumerate(surface):
        others = surface[:place] if kind(event) == "tool_result" else surface[place + 1 :]
        wanted = "tool_call" if kind(event) == "tool_result" else "tool_result"
        if call_id(event) is not None and any(
            kind(other) == wanted and call_id(other) == call_id(event) for other in others
        ):
            found.add(event.sequence)
    return found


def call_id(event: Event) -> str | None:
    """The call that the row belongs to, if it is a tool's."""
    if kind(event) in {"tool_call", "tool_result"}:
        return getattr(event, kind(event)).call_id
    return None


def context(rows: Sequence[Event], *, conversation: bool = False, without_prompt: Event | None = None) -> list[Event]:
    """What ReadContext gives for these rows."""
    surface = fold(rows)
    if conversation:
        surface = [row for row in surface if facts(row).recalled]
    return [row for row in surface if without_prompt is None or row.sequence != without_prompt.sequence]


def bad_range(**metadata: int) -> Refused:
    """A range that is not on the surface, or parts a call from its result."""
    named = {name: str(value) for name, value in metadata.items()}
    return Refused(grpc.StatusCode.FAILED_PRECONDITION, "BAD_SURFACE_RANGE", named)
