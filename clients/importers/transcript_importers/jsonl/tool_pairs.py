"""Tool calls and results on the surface: between which rows of a journal an append may end (rule 26).

A replacement must not take one of a call and its result off the surface while the other stays. The server judges that
after a whole append, so rows that were appended together may have to be sent together. The journal does not say which
they were; the surface does. A result belongs to a call that stands before it: a call that comes later under a used id
is no half of what was taken.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from transcript_importers.surface import surfaces

if TYPE_CHECKING:
    from transcript.v1.event_pb2 import Event

_Pair = tuple[str, bool]
"""The id of a call, and whether the row is its result."""


@dataclass(frozen=True, slots=True)
class _Standing:
    place: int
    sequence: int
    call: str
    is_result: bool


class ToolPairs:
    """The tool rows that stand on the surface of a journal, in the surface's order.

    A row that is appended stands at its sequence, a replacement at the place of the first row that it replaces.
    """

    def __init__(self) -> None:
        self._places: list[int] = []
        self._rows: dict[int, _Standing] = {}
        """What stands at each of the places."""
        self._of_call: dict[str, set[_Standing]] = {}
        self._moved: dict[int, int] = {}
        """The places of replacements, by their sequence."""
        self._touched: dict[str, dict[_Standing, int]] = {}
        """By call, the rows that had their other half when a replacement took a row of that call; and it."""
        self._parted: dict[str, int] = {}
        """Calls of which such a row stands without its other half now, with the last of those replacements."""

    def take(self, event: Event, sequence: int) -> int:
        """Takes the journal's next row.

        Returns:
            The first row that an append may begin with if it is to end with this row.
        """
        match event.surface.WhichOneof("op"):
            case "append":
                self._join(event, sequence, sequence)
            case "replace":
                self._replace(event, sequence)
            case None if surfaces(event):
                self._join(event, sequence, sequence)
        if event.HasField("context_reset"):
            self._leave(0, len(self._places))
        elif event.HasField("rewind"):
            after = event.rewind.after_sequence
            self._leave(bisect_right(self._places, self._place(after)) if after else 0, len(self._places))
        return max(self._parted.values(), default=0) + 1

    def begin(self, sequence: int) -> None:
        """An append begins with this row: what replacements before it took is settled."""
        for call, rows in [*self._touched.items()]:
            self._touched[call] = {row: at for row, at in rows.items() if at >= sequence}
            if not self._touched[call]:
                del self._touched[call]
            self._judge(call)

    def _join(self, event: Event, sequence: int, place: int) -> None:
        pair = _pair(event)
        if pair is None:
            return
        row = _Standing(place, sequence, *pair)
        self._places.insert(bisect_left(self._places, place), place)
        self._rows[place] = row
        self._of_call.setdefault(row.call, set()).add(row)
        self._judge(row.call)

    def _replace(self, event: Event, sequence: int) -> None:
        place = self._moved[sequence] = self._place(event.surface.replace.start_sequence)
        first = bisect_left(self._places, place)
        last = bisect_right(self._places, self._place(event.surface.replace.end_sequence))
        for call in {self._rows[at].call for at in self._places[first:last]}:
            self._touched.setdefault(call, {}).update(dict.fromkeys(_paired(self._of_call[call]), sequence))
        self._leave(first, last)
        self._join(event, sequence, place)

    def _leave(self, first: int, last: int) -> None:
        left = [self._rows.pop(place) for place in self._places[first:last]]
        del self._places[first:last]
        for row in left:
            self._of_call[row.call].remove(row)
        for call in {row.call for row in left}:
            self._judge(call)
            if not self._of_call[call]:
                del self._of_call[call]

    def _judge(self, call: str) -> None:
        if call not in self._touched:
            self._parted.pop(call, None)
            return
        standing = self._of_call.get(call, set())
        left = (self._touched[call].keys() & standing) - _paired(standing)
        if left:
            self._parted[call] = max(self._touched[call][row] for row in left)
        else:
            self._parted.pop(call, None)

    def _place(self, sequence: int) -> int:
        return self._moved.get(sequence, sequence)


def _paired(standing: set[_Standing]) -> set[_Standing]:
    """The rows of one call that have their other half: a result behind, a call before."""
    first_call = min((row.place for row in standing if not row.is_result), default=None)
    last_result = max((row.place for row in standing if row.is_result), default=None)
    if first_call is None or last_result is None:
        return set()
    return {row for row in standing if (first_call < row.place if row.is_result else row.place < last_result)}


def _pair(event: Event) -> _Pair | None:
    if event.tool_call.call_id:
        return event.tool_call.call_id, False
    if event.tool_result.call_id:
        return event.tool_result.call_id, True
    return None
