"""The model's surface, as far as an importer has to know it: which rows a compaction or a microcompaction takes off.

A row that replaces others has to name them, and what a row says must follow from the log alone: so reading a log keeps
the surface that its rows make. Which kinds stand there is read off the descriptor.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from transcript.v1.event_pb2 import Event
from transcript.v1.kind_pb2 import facts


def surfaces(event: Event) -> bool:
    """Whether a row is of a kind that stands on the surface."""
    kind = event.WhichOneof("payload")
    return bool(kind) and _kind_surfaces(str(kind))


@cache
def _kind_surfaces(kind: str) -> bool:
    return Event.DESCRIPTOR.fields_by_name[kind].GetOptions().Extensions[facts].surfaces


@dataclass(frozen=True, slots=True)
class Standing:
    """A row on the surface."""

    id: str
    calls: str
    """The id of the call that it is; empty if it is none."""
    answers: str
    """The id of the call that it is the result of; empty if it is none."""
    is_error: bool
    """Whether it is the result of a tool that failed."""
    replaces: bool
    """Whether it stands in the place of others."""

    @classmethod
    def of(cls, event: Event, *, replaces: bool) -> Standing:
        """What a row is there."""
        call, result = event.tool_call, event.tool_result
        return cls(event.id, call.call_id, result.call_id, result.is_error, replaces)


class LiveSurface:
    """The surface of a session that only its importer writes, by the rows' ids."""

    def __init__(self) -> None:
        self._rows: list[Standing] = []

    def append(self, event: Event) -> None:
        """Puts a row at the end, if its kind stands on the surface."""
        if surfaces(event):
            self._rows.append(Standing.of(event, replaces=False))

    def replace(self, event: Event, first: str, last: str) -> None:
        """Puts a row in the place of a range, by the ids of its first and its last row; both stand there."""
        ids = [row.id for row in self._rows]
        self._rows[ids.index(first) : ids.index(last) + 1] = [Standing.of(event, replaces=True)]

    def all_before(self, kept: str) -> tuple[str, str] | None:
        """The range of all that stands, or of what stands before the rows of an entry that stay.

        Args:
            kept: The first entry of the log whose rows stay; empty if none do.

        Returns:
            The ids of its first and its last row; None if nothing stands.
        """
        taken = self._rows[: self._cut_before(kept)] if kept else self._rows
        return (taken[0].id, taken[-1].id) if taken else None

    def result_of(self, call_id: str) -> Standing | None:
        """The result of a call as the tool gave it, the latest if there are more; None if none stands."""
        if not call_id:
            return None
        return next((row for row in reversed(self._rows) if row.answers == call_id and not row.replaces), None)

    def _cut_before(self, entry_id: str) -> int:
        """Where the rows of an entry begin, moved back so that no call is parted from its result; else the end."""
        cut = next((at for at, row in enumerate(self._rows) if row.id.startswith(f"{entry_id}:")), 0)
        while parted := {row.answers for row in self._rows[cut:] if row.answers} & {
            row.calls for row in self._rows[:cut] if row.calls
        }:
            cut = next(at for at, row in enumerate(self._rows) if row.calls in parted)
        return cut or len(self._rows)
