"""A journal's rows → appends that a server takes as it took the rows the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transcript_importers.jsonl.tool_pairs import ToolPairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transcript.v1.event_pb2 import Event

ROWS_LIMIT = 1000
BYTES_LIMIT = 8 << 20
"""Of one append, as the server has it."""
ROWS = 500
BYTES = 2 << 20
"""Of an append that may end anywhere."""


class Inseparable(Exception):  # noqa: N818 - says what the rows are
    """Rows that can only be appended together, and cannot."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__(f"rows {first} to {last}" if first != last else f"row {first}")
        self.first = first
        self.last = last


class Batches:
    """Cuts a journal where an append may end, if it can where no turn is running.

    A turn that waits for its next append may be ended as idle; and an import that breaks off goes on more surely where
    nothing runs.
    """

    def __init__(self, *, rows: int = ROWS, size: int = BYTES) -> None:
        """*rows*, *size*: how many rows and bytes an append should have; more, up to the server's limits, where it has
        to."""
        self._rows = rows
        self._size = size
        self._pairs = ToolPairs()
        self._waiting: list[tuple[Event, int, int, bool]] = []
        """Each row with its bytes, the first row that an append which ends with it may begin with, and whether a turn
        runs after it."""
        self._bytes = 0
        self._begin = 1
        self._running = False

    def pass_over(self, row: Event) -> None:
        """Takes a row that is recorded already; only before the first that is not."""
        self._taken(row, self._begin)
        self._begin += 1
        self._pairs.begin(self._begin)

    def add(self, row: Event) -> Iterator[list[Event]]:
        """Takes the next row.

        Yields:
            What is to be appended before it.

        Raises:
            Inseparable: More rows belong together than one append takes.
        """
        size = row.ByteSize()
        while self._waiting and (len(self._waiting) >= self._rows or self._bytes + size > self._size):
            seam = self._seam()
            if not seam:
                break
            yield self._cut(seam)
        needs = self._taken(row, self._begin + len(self._waiting))
        self._waiting.append((row, size, needs, self._running))
        self._bytes += size
        if len(self._waiting) > ROWS_LIMIT or (len(self._waiting) > 1 and self._bytes > BYTES_LIMIT):
            raise Inseparable(self._begin, self._begin + len(self._waiting) - 1)

    def rest(self) -> Iterator[list[Event]]:
        """What is left at the end.

        Raises:
            Inseparable: The last rows lack some that belong to them.
        """
        while self._waiting:
            seam = len(self._waiting) if self._may_end(len(self._waiting)) else self._seam()
            if not seam:
                raise Inseparable(self._begin, self._begin + len(self._waiting) - 1)
            yield self._cut(seam)

    def _taken(self, row: Event, sequence: int) -> int:
        if row.HasField("turn_started") or row.HasField("turn_ended"):
            self._running = row.HasField("turn_started")
        return self._pairs.take(row, sequence)

    def _may_end(self, count: int) -> bool:
        return self._waiting[count - 1][2] <= self._begin

    def _seam(self) -> int:
        """How many of the waiting rows to append: as many as may be, at rest if possible; 0 if none may."""
        seams = [count for count in range(len(self._waiting), 0, -1) if self._may_end(count)]
        at_rest = (count for count in seams if not self._waiting[count - 1][3])
        return next(at_rest, seams[0] if seams else 0)

    def _cut(self, count: int) -> list[Event]:
        cut, self._waiting = self._waiting[:count], self._waiting[count:]
        self._bytes -= sum(size for _, size, _, _ in cut)
        self._begin += count
        self._pairs.begin(self._begin)
        return [row for row, _, _, _ in cut]
