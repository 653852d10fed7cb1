"""A session and its head, as the tables hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import apsw
from google.protobuf.timestamp_pb2 import Timestamp

from transcript_server.journal.journal import Place, Principal
from transcript_server.journal.sqlite.queries import first
from transcript_server.rules.errors import session_not_found
from transcript_server.rules.turns import Turns

KEY_BITS: Final = 32
LAST_SEQUENCE: Final = (1 << KEY_BITS) - 1

COLUMNS: Final = """
  s.number, s.owner, s.id, s.journal_id, s.body, h.tip, h.turn, h.start, h.running, h.ended, h.after_tool, h.declarable,
  h.prompted, h.idle_us, h.deadline_us, h.recorded_us, h.messages, h.input_tokens, h.output_tokens,
  h.cached_tokens, h.last_prompt
"""
BY_ID: Final = f"SELECT {COLUMNS} FROM session s JOIN head h USING (number) WHERE s.owner = ? AND s.id = ?"
BY_NUMBER: Final = f"SELECT {COLUMNS} FROM session s JOIN head h USING (number) WHERE s.number = ?"


EXPIRED: Final = "SELECT number FROM head INDEXED BY head_deadline WHERE deadline_us IS NOT NULL AND deadline_us <= ?"
TOUCHES_PER_TIMEOUT: Final = 10
"""Writes that published text costs at most in the time that a turn may lie idle."""


class TurnExpired(Exception):  # noqa: N818 - not a fault: whoever meets it ends the turn first
    """A running turn lies past its deadline; it is to be ended before anything else is seen or done."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass(slots=True)
class Head:
    """A session's journal as its last append left it; times in microseconds since 1970."""

    number: int
    owner: str
    session_id: str
    journal_id: str
    body: bytes
    tip: int
    turns: Turns
    idle_us: int
    deadline_us: int | None
    recorded_us: int
    messages: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    last_prompt: bytes | None

    @property
    def base(self) -> int:
        """Key of the row before the first."""
        return base_of(self.number)

    @property
    def place(self) -> Place:
        """The journal, for reads that follow."""
        return Place(self.session_id, self.journal_id, self.number)

    def expired(self, now_us: int) -> bool:
        """Whether the running turn has lain idle past its deadline."""
        return self.deadline_us is not None and self.deadline_us <= now_us

    def wants_touch(self, now_us: int) -> bool:
        """Whether live text, published now, is to move the deadline: not for every piece, a write each would cost."""
        return self.deadline_us is not None and now_us + self.idle_us > self.deadline_us


def base_of(number: int) -> int:
    """Key of the row before a journal's first."""
    return number << KEY_BITS


def look_for(connection: apsw.Connection, who: Principal, session_id: str) -> Head | None:
    """A caller's session; none if there is none, or it is another owner's."""
    row = first(connection, BY_ID, (who, session_id))
    return None if row is None else head_of(row)


def find(connection: apsw.Connection, who: Principal, session_id: str) -> Head:
    """A caller's session.

    Raises:
        Refusal: SESSION_NOT_FOUND, also if it is another owner's.
    """
    head = look_for(connection, who, session_id)
    if head is None:
        raise session_not_found(session_id)
    return head


def head_of(row: tuple) -> Head:  # type: ignore[type-arg]  # a row of COLUMNS
    """A row of `BY_ID` or `BY_NUMBER`."""
    (
        number,
        owner,
        session_id,
        journal_id,
        body,
        tip,
        turn,
        start,
        running,
        ended,
        after_tool,
        declarable,
        prompted,
        *rest,
    ) = row
    turns = Turns(turn, start, bool(running), bool(ended), bool(after_tool), bool(declarable), bool(prompted))
    return Head(number, owner, session_id, journal_id, body, tip, turns, *rest)


def find_unexpired(connection: apsw.Connection, who: Principal, session_id: str, now_us: int) -> Head:
    """A caller's session, whose turn is not past its deadline.

    Raises:
        TurnExpired: It is.
        Refusal: SESSION_NOT_FOUND.
    """
    head = find(connection, who, session_id)
    if head.expired(now_us):
        raise TurnExpired(head.number)
    return head


def touch(connection: apsw.Connection, number: int, now_us: int) -> None:
    """Live text was published: a running turn's deadline moves on, a little further than it must."""
    connection.execute(
        "UPDATE head SET deadline_us = :now + idle_us + idle_us / :touches "
        "WHERE number = :number AND deadline_us > :now",
        {"now": now_us, "touches": TOUCHES_PER_TIMEOUT, "number": number},
    )


def write_head(connection: apsw.Connection, head: Head) -> None:
    """Stores what an append moved."""
    turns = head.turns
    connection.execute(
        """INSERT OR REPLACE INTO head VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)""",
        (
            head.number, head.tip, turns.turn, turns.start, turns.running, turns.ended, turns.after_tool,
            turns.declarable, turns.prompted, head.idle_us, head.deadline_us, head.recorded_us, head.messages,
            head.input_tokens, head.output_tokens, head.cached_tokens, head.last_prompt,
        ),
    )  # fmt: skip


def timestamp(microseconds: int) -> Timestamp:
    """A time in microseconds since 1970 as a message."""
    return Timestamp(seconds=microseconds // 1_000_000, nanos=microseconds % 1_000_000 * 1000)
