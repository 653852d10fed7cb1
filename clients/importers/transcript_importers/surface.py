"""The model's surface: which rows stand on it, and which of them a compaction takes off.

An importer keeps its own fold, because a checkpoint has to name the range that it takes the place of.
Which kinds stand on the surface is read off the descriptor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from transcript.v1.event_pb2 import Event
from transcript.v1.kind_pb2 import facts

if TYPE_CHECKING:
    from collections.abc import Iterable


def surfaces(event: Event) -> bool:
    """Whether a row is of a kind that stands on the surface."""
    kind = event.WhichOneof("payload")
    return bool(kind) and _kind_surfaces(str(kind))


@cache
def _kind_surfaces(kind: str) -> bool:
    return Event.DESCRIPTOR.fields_by_name[kind].GetOptions().Extensions[facts].surfaces


@dataclass(frozen=True, slots=True)
class _Standing:
    id: str
    calls: str = ""
    answers: str = ""


class LiveSurface:
    """The surface of a session that only its importer writes, by the rows' ids."""

    def __init__(self) -> None:
        self._rows: list[_Standing] = []

    def __bool__(self) -> bool:
        return bool(self._rows)

    def append(self, event: Event) -> None:
        """Puts a row at the end, if its kind stands on the surface."""
        if surfaces(event):
            self._rows.append(_Standing(event.id, event.tool_call.call_id, event.tool_result.call_id))

    def replace(self, event: Event, keep_from: str = "") -> tuple[str, str]:
        """Puts a row in the place of all that stands, or of what stands before the rows of the entry *keep_from*.

        Args:
            event: The row.
            keep_from: The first entry of the log whose rows stay, where the log says that some do.

        Returns:
            The ids of the first and the last row of the range.
        """
        cut = self._cut_before(keep_from) if keep_from else len(self._rows)
        taken, kept = self._rows[:cut], self._rows[cut:]
        self._rows = [_Standing(event.id), *kept]
        return taken[0].id, taken[-1].id

    def _cut_before(self, entry_id: str) -> int:
        """Where the rows of an entry begin, moved back so that no call is parted from its result; else the end."""
        cut = next((at for at, row in enumerate(self._rows) if row.id.startswith(f"{entry_id}:")), 0)
        while parted := {row.answers for row in self._rows[cut:] if row.answers} & {
            row.calls for row in self._rows[:cut] if row.calls
        }:
            cut = next(at for at, row in enumerate(self._rows) if row.calls in parted)
        return cut or len(self._rows)


def fold(events: Iterable[Event]) -> list[int]:
    """The surface of a journal by its rows' sequences, whoever wrote them.

    Args:
        events: The journal's rows as stored, from the first one on.
    """
    standing: list[int] = []
    for event in events:
        match event.surface.WhichOneof("op"), event.WhichOneof("payload"):
            case "append", _:
                standing.append(event.sequence)
            case "replace", _:
                first = standing.index(event.surface.replace.start_sequence)
                last = standing.index(event.surface.replace.end_sequence)
                standing[first : last + 1] = [event.sequence]
            case _, "context_reset":
                standing.clear()
            case _, "rewind":
                after = event.rewind.after_sequence
                del standing[standing.index(after) + 1 if after else 0 :]
    return standing
