"""The model's surface: how appends change it, and how it is found as of any row (rules 24 and 26).

A row on the surface has a position: an appended row its own sequence, a replacement the position of the first
row that it replaces. Rows leave at a sequence: the surface as of any row follows from positions and leavings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from transcript.v1.event_pb2 import Event


def call_id(event: Event) -> tuple[str, bool] | None:
    """A tool row's pairing: the call's id and whether the row is the result; none for rows that are not paired."""
    if event.HasField("tool_call") and event.tool_call.call_id:
        return event.tool_call.call_id, False
    if event.HasField("tool_result") and event.tool_result.call_id:
        return event.tool_result.call_id, True
    return None


class ToolRow(NamedTuple):
    """A row of a tool on the surface."""

    position: int
    key: int
    is_result: bool


def paired(standing: Sequence[ToolRow]) -> set[int]:
    """The keys of one call's rows, of all that stand, that have their other half: a result behind, a call before.

    A call may stand more than once, under a used id: one that comes behind a result is not that result's.
    """
    first_call = min((row.position for row in standing if not row.is_result), default=None)
    last_result = max((row.position for row in standing if row.is_result), default=None)
    if first_call is None or last_result is None:
        return set()
    return {row.key for row in standing if (first_call < row.position if row.is_result else row.position < last_result)}


def fork_node(first: int, last: int) -> int:
    """The node of an interval in a relational interval tree over [1, 2**k).

    The number between `first` and `last`, both included, that two divides most often. An interval holds a
    point only if its node lies on the point's path from the root, so one probe for each bit finds all.

    Source: Kriegel, Pötke, Seidl: Managing Intervals Efficiently in Object-Relational Databases (VLDB 2000).
    """
    shift = ((first - 1) ^ last).bit_length() - 1
    return last >> shift << shift


def path(point: int, last: int) -> Iterator[int]:
    """The nodes that may keep an interval which holds `point`, if none ends after `last`: its path to the root.

    An interval at a node up to `point` holds it if it ends there or later; one at a node after it, if it
    begins there or earlier.
    """
    lowest = (point & -point).bit_length() - 1
    for bit in range(lowest, last.bit_length()):
        node = point >> bit << bit | 1 << bit
        if node <= last:
            yield node
