"""Human requests: which wait for a person, now and as of any row (rule 10)."""

from __future__ import annotations

from typing import Final

import apsw

from transcript.v1 import error_reason_pb2
from transcript.v1.event_pb2 import Event
from transcript_server.journal.sqlite.heads import LAST_SEQUENCE
from transcript_server.journal.sqlite.queries import each, first, only
from transcript_server.journal.sqlite.schema import BOUNDARY
from transcript_server.rules import limits
from transcript_server.rules.errors import Refusal
from transcript_server.rules.turns import Flag

LATEST: Final = """
SELECT key, answered FROM request INDEXED BY request_by_id
WHERE request_id = ? AND key > ? AND key <= ? ORDER BY key DESC LIMIT 1"""
RETIRE: Final = """
UPDATE request INDEXED BY request_open SET closed = ?
WHERE key > ? AND key <= ? AND turn < ? AND closed IS NULL"""
# The first row of the turn of the last prompt that retired what waited before it: no older request waits.
RETIRED_BEFORE: Final = f"""
SELECT o.key FROM event o INDEXED BY boundary WHERE o.{BOUNDARY} AND o.flags & {Flag.OPENS:d}
  AND o.key > :base AND o.key <=
  (SELECT r.key FROM event r INDEXED BY boundary WHERE r.{BOUNDARY} AND r.flags & {Flag.RETIRES:d}
   AND r.key > :base AND r.key <= :at ORDER BY r.key DESC LIMIT 1)
ORDER BY o.key DESC LIMIT 1"""
_OPEN: Final = "FROM request WHERE key > ? AND key <= ? AND (closed IS NULL OR closed > ?)"
OPEN: Final = f"SELECT key {_OPEN} ORDER BY key DESC LIMIT ?"
COUNT_OPEN: Final = f"SELECT count(*) {_OPEN}"


def take_request(connection: apsw.Connection, base: int, sequence: int, turn: int, event: Event) -> None:
    """A request landed; one under the same id that waits gives its place to it."""
    request_id = event.human_request.request_id
    earlier = _latest(connection, base, request_id)
    if earlier is not None:
        connection.execute("UPDATE request SET closed = ? WHERE key = ? AND closed IS NULL", (sequence, earlier[0]))
    connection.execute("INSERT INTO request VALUES (?, ?, ?, NULL, NULL)", (base | sequence, request_id, turn))


def take_response(connection: apsw.Connection, base: int, sequence: int, event: Event) -> None:
    """A response landed.

    Raises:
        Refusal: REQUEST_NOT_OPEN if its request was answered, or never made; a retired one may still be answered.
    """
    request_id = event.human_response.request_id
    found = _latest(connection, base, request_id)
    if found is None or found[1] is not None:
        raise Refusal(
            error_reason_pb2.ERROR_REASON_REQUEST_NOT_OPEN,
            f"request {request_id} was {'never made' if found is None else 'answered already'}",
            {"request_id": request_id},
        )
    connection.execute(
        "UPDATE request SET answered = ?1, closed = coalesce(closed, ?1) WHERE key = ?2", (sequence, found[0])
    )


def retire(connection: apsw.Connection, base: int, sequence: int, turn: int) -> None:
    """A prompt landed in a turn: what waits from earlier turns waits no longer."""
    connection.execute(RETIRE, (sequence, base, base | LAST_SEQUENCE, turn))


def open_as_of(connection: apsw.Connection, base: int, at: int) -> list[int]:
    """The latest requests that wait as of row `at`, oldest first."""
    found = [*each(connection, OPEN, (*_waiting(connection, base, at), limits.OPEN_REQUESTS))]
    return [key - base for (key,) in reversed(found)]


def count_open(connection: apsw.Connection, base: int, at: int) -> int:
    """How many requests wait as of row `at`."""
    (count,) = only(connection, COUNT_OPEN, _waiting(connection, base, at))
    return int(count)


def waits_in_turn(connection: apsw.Connection, base: int, start: int) -> bool:
    """Whether a request waits that was made in the latest turn, which began with row `start`."""
    return (
        first(
            connection,
            "SELECT 1 FROM request INDEXED BY request_open WHERE key >= ? AND key <= ? AND closed IS NULL LIMIT 1",
            (base | start, base | LAST_SEQUENCE),
        )
        is not None
    )


def _waiting(connection: apsw.Connection, base: int, at: int) -> tuple[int, int, int]:
    """The bounds of `_OPEN`: after what was retired, up to a row, and not closed by then."""
    floor = first(connection, RETIRED_BEFORE, {"base": base, "at": base | at})
    return base if floor is None else floor[0] - 1, base | at, at


def _latest(connection: apsw.Connection, base: int, request_id: str) -> tuple[int, int | None] | None:
    return first(connection, LATEST, (request_id, base, base | LAST_SEQUENCE))
