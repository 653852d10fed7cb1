"""Deletion: unseen from the first moment, rows taken away in bounded steps (rule 31)."""

from __future__ import annotations

from typing import Final

import apsw

from transcript_server.journal.sqlite.heads import LAST_SEQUENCE, Head, base_of
from transcript_server.journal.sqlite.queries import each, first
from transcript_server.journal.sqlite.steps import STEP_ROWS, step_end

IS_HIDDEN: Final = "SELECT 1 FROM hidden WHERE number = ? AND NOT copying"
TAKE_ROWS: Final = "DELETE FROM event WHERE key > ? AND key <= ?"
_KEYED: Final = ("marker", "summary", "request", "surface", "emptied")
TAKE_KEYED: Final = tuple(
    f"DELETE FROM {table} WHERE key IN (SELECT key FROM {table} WHERE key > :first AND key <= :last LIMIT :rows)"
    for table in _KEYED
)
TAKE_IDS: Final = """
DELETE FROM id WHERE number = :number AND event_id IN (SELECT event_id FROM id WHERE number = :number LIMIT :rows)"""


def hide(connection: apsw.Connection, head: Head) -> None:
    """Takes a session out of sight, for `step` to take its rows."""
    connection.execute("DELETE FROM session WHERE number = ?", (head.number,))
    connection.execute("DELETE FROM head WHERE number = ?", (head.number,))
    connection.execute("DELETE FROM held WHERE number = ?", (head.number,))
    connection.execute("INSERT INTO hidden VALUES (?, FALSE)", (head.number,))


def hidden(connection: apsw.Connection) -> list[int]:
    """Numbers of journals that are to be taken away."""
    return [number for (number,) in each(connection, "SELECT number FROM hidden WHERE NOT copying ORDER BY number")]


def abandon(connection: apsw.Connection, number: int | None = None) -> None:
    """Gives up a copy that was under way, or every one, for `step` to take its rows."""
    connection.execute("UPDATE hidden SET copying = FALSE WHERE number = coalesce(?, number)", (number,))


def step(connection: apsw.Connection, number: int) -> bool:
    """Takes some rows of a hidden journal away; whether there is nothing left to do.

    It looks anew whether the number is to be taken away: what others decide, they decide in this table.
    """
    if first(connection, IS_HIDDEN, (number,)) is None:
        return True
    base = base_of(number)
    bounds = {"first": base, "last": base | LAST_SEQUENCE, "number": number, "rows": STEP_ROWS}
    end = step_end(connection, base, base | LAST_SEQUENCE)
    before = connection.total_changes()
    connection.execute(TAKE_ROWS, (base, end))
    for statement in TAKE_KEYED:
        connection.execute(statement, {key: bounds[key] for key in ("first", "last", "rows")})
    connection.execute(TAKE_IDS, {key: bounds[key] for key in ("number", "rows")})
    if connection.total_changes() > before:
        return False
    connection.execute("DELETE FROM hidden WHERE number = ?", (number,))
    return True
