"""The model's surface in its table: rows join, leave, and are checked as rules 24 and 26 say."""

from __future__ import annotations

from typing import Final

import apsw

from transcript.v1.event_pb2 import Event
from transcript_server.journal.sqlite.heads import LAST_SEQUENCE
from transcript_server.journal.sqlite.queries import each, first
from transcript_server.rules.errors import bad_surface_range
from transcript_server.rules.surface import ToolRow, call_id, fork_node, paired

STANDING: Final = """
SELECT key, call_id FROM surface INDEXED BY standing WHERE pos >= ? AND pos <= ? AND left_at IS NULL"""
LAST_EMPTIED: Final = "SELECT key FROM emptied WHERE key > ? AND key <= ? ORDER BY key DESC LIMIT 1"
STANDING_OF_CALL: Final = """
SELECT pos, key, is_result FROM surface INDEXED BY standing_calls
WHERE call_id = ? AND key > ? AND key <= ? AND left_at IS NULL"""


class SurfaceChanges:
    """What one append does to a session's surface; judged as a whole by `check`.

    Args:
        connection: Inside the writing transaction.
        base: The session's key.
    """

    def __init__(self, connection: apsw.Connection, base: int) -> None:
        self._connection = connection
        self._base = base
        self._emptied: int | None = None
        self._touched: dict[str, dict[int, tuple[int, int]]] = {}
        """By call, the rows that had their other half when a replacement took a row of that call, with its range."""

    def take(self, event: Event, sequence: int) -> None:
        """Changes the surface as a landing row says.

        Raises:
            Refusal: BAD_SURFACE_RANGE if it names rows that are not on the surface.
        """
        match event.surface.WhichOneof("op"):
            case "append":
                self._join(event, sequence, self._base | sequence)
            case "replace":
                self._replace(event, sequence)
        if event.HasField("context_reset"):
            self._empty(sequence)
        elif event.HasField("rewind"):
            self._rewind(event.rewind.after_sequence, sequence)

    def check(self) -> None:
        """Refuses an append by which a replacement left half of a tool call and its result (rule 26).

        Raises:
            Refusal: BAD_SURFACE_RANGE with the range of that replacement.
        """
        for call, touched in self._touched.items():
            standing = self._standing_of_call(call)
            for key in touched.keys() & {row.key for row in standing} - paired(standing):
                start, end = touched[key]
                raise bad_surface_range(
                    f"replacing rows {start} to {end} parts the tool call {call} from its result; take both, or none",
                    start_sequence=start,
                    end_sequence=end,
                )

    def _join(self, event: Event, sequence: int, position: int) -> None:
        pair = call_id(event)
        self._connection.execute(
            "INSERT INTO surface VALUES (?, ?, NULL, NULL, ?, ?)",
            (self._base | sequence, position, pair[0] if pair else None, pair is not None and pair[1]),
        )

    def _replace(self, event: Event, sequence: int) -> None:
        start, end = event.surface.replace.start_sequence, event.surface.replace.end_sequence
        first, last = self._position(start), self._position(end)
        if first is None or last is None:
            missing = [row for row, position in ((start, first), (end, last)) if position is None]
            raise bad_surface_range(
                f"rows {' and '.join(map(str, missing))} of the range {start} to {end} are not on the surface",
                start_sequence=start,
                end_sequence=end,
            )
        if first > last:
            raise bad_surface_range(
                f"row {start} stands after row {end} on the surface", start_sequence=start, end_sequence=end
            )
        leaving = [*each(self._connection, STANDING, (first, last))]
        for call in {call for _, call in leaving if call is not None}:
            whole = paired(self._standing_of_call(call))
            self._touched.setdefault(call, {}).update(dict.fromkeys(whole, (start, end)))
        self._leave([key for key, _ in leaving], sequence)
        self._join(event, sequence, first)

    def _rewind(self, after: int, sequence: int) -> None:
        if after == 0:
            self._empty(sequence)
            return
        position = self._position(after)
        if position is None:
            raise bad_surface_range(f"row {after} is not on the surface", after_sequence=after)
        leaving = each(self._connection, STANDING, (position + 1, self._base | LAST_SEQUENCE))
        self._leave([key for key, _ in leaving], sequence)

    def _empty(self, sequence: int) -> None:
        # What stood stays in the table as it is: only what came after the last such row stands now.
        self._connection.execute("INSERT INTO emptied VALUES (?)", (self._base | sequence,))
        self._emptied = self._base | sequence

    def _leave(self, keys: list[int], sequence: int) -> None:
        self._connection.executemany(
            "UPDATE surface SET left_at = ?, node = ? WHERE key = ?",
            [(sequence, self._base | fork_node(key - self._base, sequence - 1), key) for key in keys],
        )

    def _position(self, sequence: int) -> int | None:
        """Where a row stands on the surface; none if it does not."""
        key = self._base | sequence
        if not 0 < sequence <= LAST_SEQUENCE or key <= self._floor():
            return None
        row = first(self._connection, "SELECT pos FROM surface WHERE key = ? AND left_at IS NULL", (key,))
        return None if row is None else row[0]

    def _standing_of_call(self, call: str) -> list[ToolRow]:
        rows = each(self._connection, STANDING_OF_CALL, (call, self._floor(), self._base | LAST_SEQUENCE))
        return [ToolRow(position, key, bool(is_result)) for position, key, is_result in rows]

    def _floor(self) -> int:
        """As `floor`, now, this append's own rows included."""
        if self._emptied is None:
            self._emptied = floor(self._connection, self._base, LAST_SEQUENCE)
        return self._emptied


def floor(connection: apsw.Connection, base: int, at: int) -> int:
    """Key of the last row up to row `at` that emptied the surface; the session's base if none did."""
    row = first(connection, LAST_EMPTIED, (base, base + at))
    return base if row is None else int(row[0])
