"""Forks: a session's rows copied in bounded steps, seen when whole (rule 31).

The copy grows under a number in `hidden`, where nobody sees it; the last step makes it a session. What a
kill leaves of it is cleared away like a deleted session.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import apsw

from transcript.v1.event_pb2 import Event, SessionForked
from transcript.v1.session_pb2 import Session
from transcript_server.journal.journal import Principal
from transcript_server.journal.sqlite import sessions, turn_states
from transcript_server.journal.sqlite.appending import MAX_TOKENS, Append
from transcript_server.journal.sqlite.heads import Head, base_of, find, find_unexpired, look_for, write_head
from transcript_server.journal.sqlite.queries import each, first, only
from transcript_server.journal.sqlite.steps import STEP_ROWS, step_end
from transcript_server.rules.errors import sequence_ahead, session_not_found
from transcript_server.rules.turns import Flag, interruption

COPY_IDS: Final = """
INSERT INTO id SELECT :copy, event_id, digest, sequence FROM id
WHERE number = :source AND event_id > :after AND event_id <= :last AND sequence <= :through"""
NEXT_IDS: Final = (
    "SELECT max(event_id) FROM (SELECT event_id FROM id WHERE number = ? AND event_id > ? ORDER BY event_id LIMIT ?)"
)
_RANGE: Final = "WHERE key > :first AND key <= :last"
COPY_ROWS: Final = (
    f"INSERT INTO event SELECT key + :shift, turn, flags, size, body, page_body FROM event {_RANGE}",
    f"INSERT INTO marker SELECT key + :shift, ordinal, collapse, label, messages_before FROM marker {_RANGE}",
    f"INSERT INTO summary SELECT key + :shift, compaction_id FROM summary {_RANGE}",
    f"INSERT INTO emptied SELECT key + :shift FROM emptied {_RANGE}",
    f"""INSERT INTO request SELECT key + :shift, request_id, turn, CASE WHEN closed <= :through THEN closed END,
        CASE WHEN answered <= :through THEN answered END FROM request {_RANGE}""",
    f"""INSERT INTO surface SELECT key + :shift, pos + :shift, CASE WHEN left_at <= :through THEN left_at END,
        CASE WHEN left_at <= :through THEN node + :shift END, call_id, is_result FROM surface {_RANGE}""",
)
REPLIES: Final = f"""
SELECT body FROM event INDEXED BY kept
WHERE flags & {Flag.KEPT:d} AND flags & {Flag.MESSAGE:d} AND flags & {Flag.AGENT:d} AND key > ? AND key <= ?"""
MESSAGES: Final = f"""
SELECT count(*) FROM event INDEXED BY kept
WHERE flags & {Flag.KEPT:d} AND flags & {Flag.MESSAGE:d} AND key > ? AND key <= ?"""


@dataclass(frozen=True, slots=True)
class Copy:
    """A fork under way, as far as it has come."""

    who: Principal
    asked: Session
    """What the caller said of the new session."""
    session: Session
    """The new session, with what it has of its source."""
    source: int
    number: int
    through: int
    asked_through: int
    """The last row that was asked for; 0 for all, however many there would be."""
    copied: int = 0
    copied_ids: str = ""
    messages: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


def begin(
    connection: apsw.Connection,
    who: Principal,
    source_id: str,
    through: int,
    asked: Session,
    now_us: int,
) -> Copy | Head:
    """Starts a fork, or finds the copy that was made of the same fields.

    Raises:
        TurnExpired: The source's turn is to be ended first.
        Refusal: SESSION_NOT_FOUND, SEQUENCE_AHEAD or SESSION_EXISTS.
    """
    if (existing := _earlier_copy(connection, who, source_id, through, asked)) is not None:
        return existing
    source = find_unexpired(connection, who, source_id, now_us)
    if through > source.tip:
        raise sequence_ahead("through_sequence", through, source.tip)
    made = Session.FromString(source.body)
    session = Session()
    session.CopyFrom(asked)
    session.kind = asked.kind or made.kind
    session.title = asked.title or made.title
    session.forked_from_session_id = source_id
    session.forked_from_sequence = through or source.tip
    number = sessions.next_number(connection)
    connection.execute("INSERT INTO hidden VALUES (?, TRUE)", (number,))
    return Copy(who, asked, session, source.number, number, session.forked_from_sequence, asked_through=through)


def step(connection: apsw.Connection, copy: Copy) -> Copy | None:
    """Copies some rows; how far it has come then, or none if all are copied."""
    source, target = base_of(copy.source), base_of(copy.number)
    _check_source(connection, copy)
    if copy.copied < copy.through:
        start = source + copy.copied
        last = step_end(connection, start, source + copy.through)
        copied = (start, last)
        bounds = {"first": start, "last": last, "shift": target - source, "through": copy.through}
        for statement in COPY_ROWS:
            connection.execute(statement, bounds)
        (messages,) = only(connection, MESSAGES, copied)
        replies = [Event.FromString(body).assistant_message for (body,) in each(connection, REPLIES, copied)]
        return replace(
            copy,
            copied=last - source,
            messages=copy.messages + messages,
            input_tokens=copy.input_tokens + sum(reply.usage.input_tokens for reply in replies),
            output_tokens=copy.output_tokens + sum(reply.usage.output_tokens for reply in replies),
            cached_tokens=copy.cached_tokens + sum(reply.usage.cached_input_tokens for reply in replies),
        )
    (last_id,) = only(connection, NEXT_IDS, (copy.source, copy.copied_ids, STEP_ROWS))
    if last_id is None:
        return None
    connection.execute(
        COPY_IDS,
        {
            "copy": copy.number, "source": copy.source, "after": copy.copied_ids, "last": last_id,
            "through": copy.through,
        },
    )  # fmt: skip
    return replace(copy, copied_ids=last_id)


def finish(connection: apsw.Connection, copy: Copy, now_us: int, idle_us: int) -> Head:
    """Makes the copy a session, ends the turn that was running in it, and says where it came from."""
    _check_source(connection, copy)
    source_id = copy.session.forked_from_session_id
    if (existing := _earlier_copy(connection, copy.who, source_id, copy.asked_through, copy.asked)) is not None:
        return existing
    head = sessions.insert(connection, copy.who, copy.session, now_us, copy.number)
    connection.execute("DELETE FROM hidden WHERE number = ?", (copy.number,))
    head.tip = copy.through
    head.turns = turn_states.turns_as_of(connection, head.base, head.tip)
    head.messages = copy.messages
    head.input_tokens = min(copy.input_tokens, MAX_TOKENS)
    head.output_tokens = min(copy.output_tokens, MAX_TOKENS)
    head.cached_tokens = min(copy.cached_tokens, MAX_TOKENS)
    head.last_prompt = turn_states.last_prompt_as_of(connection, head.base, head.tip)
    head.recorded_us = _recorded_us(connection, head)
    if head.last_prompt is not None:
        sessions.list_at(connection, head)
    write_head(connection, head)
    ending = [interruption()] if head.turns.running else []
    forked = SessionForked(session_id=copy.session.forked_from_session_id, sequence=copy.through)
    Append(connection, head, now_us, idle_us).server_rows([*ending, Event(session_forked=forked)])
    return head


def _earlier_copy(
    connection: apsw.Connection, who: Principal, source_id: str, through: int, asked: Session
) -> Head | None:
    """The copy that an earlier or racing call with the same fields made, whatever became of the source since.

    A title, kind or last row that was left out is not compared: the copy has what the source had then.

    Raises:
        Refusal: SESSION_EXISTS if the id is taken by another session.
    """
    head = look_for(connection, who, asked.id)
    if head is None:
        return None
    made = Session.FromString(head.body)
    if (
        made.forked_from_session_id != source_id
        or (through and made.forked_from_sequence != through)
        or (asked.title and made.title != asked.title)
        or (asked.kind and made.kind != asked.kind)
        or dict(made.labels) != dict(asked.labels)
    ):
        raise sessions.exists_otherwise(asked.id)
    return head


def _check_source(connection: apsw.Connection, copy: Copy) -> None:
    """Raises SESSION_NOT_FOUND once the source was deleted, under whatever new journal its id may be."""
    source_id = copy.session.forked_from_session_id
    if find(connection, copy.who, source_id).number != copy.source:
        raise session_not_found(source_id)


def _recorded_us(connection: apsw.Connection, head: Head) -> int:
    row = first(connection, "SELECT body FROM event WHERE key = ?", (head.base + head.tip,))
    if row is None:
        return 0
    recorded_at = Event.FromString(row[0]).recorded_at
    return recorded_at.seconds * 1_000_000 + recorded_at.nanos // 1000
