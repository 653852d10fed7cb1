"""Sessions in their table: made, read, listed, changed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import Final

import apsw
from google.protobuf.timestamp_pb2 import Timestamp

from transcript.v1 import error_reason_pb2
from transcript.v1.session_pb2 import Session, SessionKind
from transcript_server.journal.journal import ListPosition, Principal, SessionFilter
from transcript_server.journal.sqlite import requests
from transcript_server.journal.sqlite.heads import (
    BY_NUMBER,
    COLUMNS,
    Head,
    TurnExpired,
    head_of,
    look_for,
    timestamp,
    write_head,
)
from transcript_server.journal.sqlite.queries import each, first, only
from transcript_server.rules.errors import Refusal
from transcript_server.rules.turns import Turns
from transcript_server.rules.wire import embedded_size

_LISTED: Final = f"""
SELECT {COLUMNS}, s.listed_at FROM session s INDEXED BY {{index}} CROSS JOIN head h USING (number)
WHERE s.owner = :owner {{parent}} AND (s.listed_at, s.number) < (:listed_at, :number)
ORDER BY s.listed_at DESC, s.number DESC"""
LIST_ALL: Final = _LISTED.format(index="session_listed", parent="")
LIST_CHILDREN: Final = _LISTED.format(index="session_children", parent="AND s.parent = :parent AND s.parent <> ''")
HELD_COUNT: Final = "SELECT count(*) FROM held INDEXED BY held_session WHERE number = ?"
_LATEST: Final = ListPosition((1 << 63) - 1, (1 << 63) - 1)


def create(connection: apsw.Connection, who: Principal, session: Session, now_us: int) -> Head:
    """Makes a session, or finds the one that was made of the same fields.

    Raises:
        Refusal: SESSION_EXISTS if the id is taken by a session made of other fields.
    """
    head = look_for(connection, who, session.id)
    if head is None:
        return insert(connection, who, session, now_us)
    made = Session.FromString(head.body)
    made.ClearField("owner")
    made.ClearField("created_at")
    if made != session:
        raise exists_otherwise(session.id)
    return head


def exists_otherwise(session_id: str) -> Refusal:
    """An id is taken by a session that was made of other fields."""
    return Refusal(
        error_reason_pb2.ERROR_REASON_SESSION_EXISTS,
        f"session {session_id} exists with other fields; use it as it is, or choose another id",
        {"session_id": session_id},
    )


def insert(
    connection: apsw.Connection, who: Principal, session: Session, now_us: int, number: int | None = None
) -> Head:
    """Writes a new session's rows, with an empty journal; `number` if its journal has one already."""
    made = Session()
    made.CopyFrom(session)
    made.owner = who
    made.created_at.CopyFrom(timestamp(now_us))
    body = made.SerializeToString(deterministic=True)
    journal_id = str(uuid.uuid4())
    number = number or next_number(connection)
    connection.execute(
        "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            number, who, made.id, journal_id, now_us, made.parent_session_id, body,
        ),
    )  # fmt: skip
    head = Head(
        number=number, owner=who, session_id=made.id, journal_id=journal_id,
        body=body, tip=0, turns=Turns(), idle_us=0, deadline_us=None,
        recorded_us=0, messages=0, input_tokens=0, output_tokens=0, cached_tokens=0, last_prompt=None,
    )  # fmt: skip
    write_head(connection, head)
    return head


def next_number(connection: apsw.Connection) -> int:
    """A number for a journal, never used before."""
    (number,) = only(connection, "UPDATE numbers SET next = next + 1 RETURNING next - 1")
    return int(number)


def update(connection: apsw.Connection, head: Head, session: Session, paths: frozenset[str]) -> Head:
    """Changes a session's title or labels."""
    made = Session.FromString(head.body)
    if "title" in paths:
        made.title = session.title
    if "labels" in paths:
        made.ClearField("labels")
        made.labels.update(session.labels)
    head.body = made.SerializeToString(deterministic=True)
    connection.execute("UPDATE session SET body = ? WHERE number = ?", (head.body, head.number))
    return head


def list_at(connection: apsw.Connection, head: Head) -> None:
    """Moves a session to where its last prompt puts it in the list."""
    at = Timestamp.FromString(head.last_prompt or b"")
    connection.execute(
        "UPDATE session SET listed_at = ? WHERE number = ?",
        (at.seconds * 1_000_000 + at.nanos // 1000, head.number),
    )


def session_of(connection: apsw.Connection, head: Head) -> Session:
    """A session as callers see it: what was made, and what its journal amounts to."""
    session = Session.FromString(head.body)
    session.journal_id = head.journal_id
    if head.last_prompt is not None:
        session.last_prompt_at.MergeFromString(head.last_prompt)
    if head.tip:
        session.last_recorded_at.CopyFrom(timestamp(head.recorded_us))
    session.latest_sequence = head.tip
    session.latest_turn = head.turns.turn
    session.running = head.turns.running
    session.open_request_count = requests.count_open(connection, head.base, head.tip)
    (session.held_row_count,) = only(connection, HELD_COUNT, (head.number,))
    session.message_count = head.messages
    if head.input_tokens or head.output_tokens or head.cached_tokens:
        session.usage.input_tokens = head.input_tokens
        session.usage.output_tokens = head.output_tokens
        session.usage.cached_input_tokens = head.cached_tokens
    return session


def listed(
    connection: apsw.Connection,
    who: Principal,
    which: SessionFilter,
    limit: int,
    after: ListPosition | None,
    budget: int | None,
    now_us: int,
) -> tuple[Sequence[Session], ListPosition | None]:
    """At most `limit` sessions and `budget` bytes after a place in the list; and the last one's place if more follow.

    Raises:
        TurnExpired: One of them has a turn past its deadline.
    """
    sessions: list[Session] = []
    place: ListPosition | None = None
    size = 0
    for head, listed_at in _candidates(connection, who, which, after or _LATEST):
        if not _matches(head, which):
            continue
        if len(sessions) == limit:
            return sessions, place
        if head.expired(now_us):
            raise TurnExpired(head.number)
        session = session_of(connection, head)
        size += embedded_size(session.ByteSize())
        if budget is not None and size > budget and sessions:
            return sessions, place
        sessions.append(session)
        place = ListPosition(listed_at, head.number)
    return sessions, None


def by_number(
    connection: apsw.Connection, who: Principal, numbers: Sequence[int], now_us: int
) -> Sequence[Session | None]:
    """The caller's sessions with these numbers; none in the place of one that is gone.

    Raises:
        TurnExpired: One of them has a turn past its deadline.
    """
    sessions: list[Session | None] = []
    for number in numbers:
        row = first(connection, BY_NUMBER, (number,))
        head = None if row is None else head_of(row)
        if head is not None and head.expired(now_us):
            raise TurnExpired(number)
        sessions.append(session_of(connection, head) if head is not None and head.owner == who else None)
    return sessions


def _candidates(
    connection: apsw.Connection, who: Principal, which: SessionFilter, after: ListPosition
) -> Iterator[tuple[Head, int]]:
    query = LIST_CHILDREN if which.parent_session_id else LIST_ALL
    named = {"owner": who, "listed_at": after.listed_at, "number": after.number, "parent": which.parent_session_id}
    for *row, listed_at in each(connection, query, named):
        yield head_of(tuple(row)), listed_at


def _matches(head: Head, which: SessionFilter) -> bool:
    made = Session.FromString(head.body)
    kind = made.kind or SessionKind.SESSION_KIND_INTERACTIVE
    if which.kinds:
        if kind not in which.kinds:
            return False
    elif kind == SessionKind.SESSION_KIND_SUBAGENT and not which.parent_session_id:
        return False
    if which.title_contains and which.title_contains.casefold() not in made.title.casefold():
        return False
    return all(made.labels.get(key) == value for key, value in which.labels.items())
