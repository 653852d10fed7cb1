"""Reads of rows by place: one row, and what a watcher has not seen."""

from __future__ import annotations

from typing import Final

import apsw

from transcript.v1 import error_reason_pb2
from transcript.v1.event_pb2 import Event
from transcript_server.journal.journal import Face, Place, Principal, Span, Tail
from transcript_server.journal.sqlite import markers, rows, sessions, views
from transcript_server.journal.sqlite.heads import Head, find_unexpired
from transcript_server.journal.sqlite.queries import first, only
from transcript_server.rules.elision import page_form
from transcript_server.rules.errors import Refusal, session_not_found

IS_THERE: Final = "SELECT 1 FROM session WHERE owner = ? AND id = ? AND number = ?"


def check_place(connection: apsw.Connection, who: Principal, place: Place) -> None:
    """Refuses a read of a journal that is gone.

    Raises:
        Refusal: SESSION_NOT_FOUND.
    """
    if first(connection, IS_THERE, (who, place.session_id, place.number)) is None:
        raise session_not_found(place.session_id)


def whole_row(connection: apsw.Connection, head: Head, sequence: int) -> bytes:
    """A row as GetEvent serves it: whole, but for a checkpoint's text.

    Raises:
        Refusal: EVENT_NOT_FOUND.
    """
    if not 0 < sequence <= head.tip:
        raise Refusal(
            error_reason_pb2.ERROR_REASON_EVENT_NOT_FOUND,
            f"row {sequence} not found; the journal ends at {head.tip}",
            {"sequence": sequence},
        )
    (body,) = only(connection, "SELECT body FROM event WHERE key = ?", (head.base + sequence,))
    # As a page shows it, were it small: nothing is cut, and only a checkpoint differs.
    shown = page_form(Event.FromString(body), size=0)
    return bytes(body) if shown is None else shown.SerializeToString()


def tail(
    connection: apsw.Connection, who: Principal, place: Place, face: Face, after: int, budget: int, now_us: int
) -> Tail:
    """What lies after a watcher's cursor, and how things stand at the tip.

    Raises:
        TurnExpired: The running turn is to be ended first.
        Refusal: SESSION_NOT_FOUND once the journal is gone.
    """
    head = find_unexpired(connection, who, place.session_id, now_us)
    if head.number != place.number:
        raise session_not_found(place.session_id)
    read = rows.read(connection, head.base, [Span(face, after + 1, head.tip)], budget)
    bar = None
    if not read.rest:
        bar = markers.bar(connection, head.base, views.turn_start(connection, head.base, head.tip))
    last = read.rest[0].first - 1 if read.rest else head.tip
    return Tail(read, last, head.tip, sessions.session_of(connection, head).SerializeToString(deterministic=True), bar)
