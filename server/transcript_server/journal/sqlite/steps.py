"""Long work on a session's rows in steps, so that no other writer waits for all of it (rule 31)."""

from __future__ import annotations

from typing import Final

import apsw

from transcript_server.journal.sqlite.queries import each

STEP_ROWS: Final = 500
STEP_BYTES: Final = 2 << 20

SIZES: Final = "SELECT key, length(body) FROM event WHERE key > ? AND key <= ? ORDER BY key LIMIT ?"


def step_end(connection: apsw.Connection, first: int, last: int) -> int:
    """Key of the last row of a step that begins after `first`: bounded in rows and bytes, one row if there is one."""
    end, size = first, 0
    for key, length in each(connection, SIZES, (first, last, STEP_ROWS)):
        size += length
        if size > STEP_BYTES and end > first:
            break
        end = key
    return int(end)
