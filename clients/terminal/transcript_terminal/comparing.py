"""What entered the model's context and what left it between two moments. Pure: rows in, runs of rows out.

A row keeps its place among those that stay, and one that left never comes back: so two surfaces of one
journal are compared by merging them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from transcript.v1.event_pb2 import Event


class Change(Enum):
    """What became of a row."""

    LEFT = "left"
    ENTERED = "entered"
    STAYS = "stays"


@dataclass(frozen=True, slots=True)
class Run:
    """Rows next to each other of which the same became: at least one, in the surface's order."""

    change: Change
    rows: tuple[Event, ...]


def compare(before: Sequence[Event], after: Sequence[Event]) -> list[Run]:
    """How the surface *before* became the surface *after*, an earlier and a later one of the same journal.

    The runs without those that entered are *before*, those without the ones that left are *after*. Where a
    replacement entered, what left up to the end of the range that it names stands right before it; if that end came
    and went in between, all that left there does, though some of it may have left otherwise.
    """
    stays = {row.sequence for row in before} & {row.sequence for row in after}
    changes = _merged(before, after, stays)
    return [
        Run(change, tuple(row for _, row in group)) for change, group in groupby(changes, key=lambda change: change[0])
    ]


def _merged(before: Sequence[Event], after: Sequence[Event], stays: set[int]) -> Iterator[tuple[Change, Event]]:
    for (left, _), (entered, stayed) in zip(_gaps(before, stays), _gaps(after, stays), strict=True):
        yield from _gap(left, entered)
        if stayed is not None:
            yield Change.STAYS, stayed


def _gaps(rows: Sequence[Event], stays: set[int]) -> Iterator[tuple[list[Event], Event | None]]:
    """The rows before each one that stays, and that one; at last the rows after them all."""
    gap: list[Event] = []
    for row in rows:
        if row.sequence in stays:
            yield gap, row
            gap = []
        else:
            gap.append(row)
    yield gap, None


def _gap(left: list[Event], entered: list[Event]) -> Iterator[tuple[Change, Event]]:
    """The rows between two that stay: each replacement after the last row whose place it took."""
    gone = 0
    for row, end in zip(entered, _ends(left, entered), strict=True):
        for one in left[gone:end]:
            yield Change.LEFT, one
        gone = max(gone, end)
        yield Change.ENTERED, row
    for one in left[gone:]:
        yield Change.LEFT, one


def _ends(left: list[Event], entered: list[Event]) -> list[int]:
    """For each row that entered, how many of those that left stand before it.

    Where its range ends at a row that had not landed yet, that is all up to where the next range begins. A row
    that was appended stands behind them all.
    """
    places = {row.sequence: place for place, row in enumerate(left)}
    ends = []
    until = len(left)
    for row in reversed(entered):
        taken = row.surface.replace
        ends.append(places[taken.end_sequence] + 1 if taken.end_sequence in places else until)
        until = places.get(taken.start_sequence, until)
    return ends[::-1]
