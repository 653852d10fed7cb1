"""One watch: the newest page, then every later row once, in order (rules 28 to 30).

A loop around a cursor. What wakes it carries nothing: it reads the journal after its cursor and sends what it
finds, so it holds a message and what it was made of at most, and a client that is slow slows nobody else.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from transcript.v1 import error_reason_pb2
from transcript.v1 import transcript_service_pb2 as pb
from transcript.v1.session_pb2 import Session
from transcript_server.journal.hub import Watcher
from transcript_server.journal.journal import Journal, Place, SessionFilter, Tail, face_of
from transcript_server.rules.errors import Refusal, journal_changed, sequence_ahead
from transcript_server.rules.limits import WATCHED_SESSIONS
from transcript_server.rules.pages import PageRequest, page_request
from transcript_server.services.calls import Call
from transcript_server.services.draining import draining
from transcript_server.services.messages import (
    WATCH_BUDGET,
    caught_up_field,
    hidden_field,
    live_message,
    page_message,
    rows_message,
    sessions_field,
    stream_rows,
)

CHANGED_AT_ONCE: Final = 2
"""Changed sessions that are read at once: one may have some 32 KiB of labels."""


@dataclass(slots=True)
class Seen:
    """What a watcher has been told of its session.

    Attributes:
        cursor: Every row of its view up to this one.
        session: The session as it was last sent, serialized.
        bar: The collapsing marker of the bar that it was last sent; 0 for none.
        caught_up: Whether it was told that it has everything up to the cursor.
    """

    cursor: int
    session: bytes = b""
    bar: int = 0
    caught_up: bool = False


class Watching:
    """Serves one call of `Watch`."""

    def __init__(self, journal: Journal, call: Call, heartbeat_seconds: float) -> None:
        self._journal = journal
        self._call = call
        self._who = call.principal
        self._heartbeat_seconds = heartbeat_seconds
        self._heartbeat_due = time.monotonic() + heartbeat_seconds

    async def serve(self, request: pb.WatchRequest) -> None:
        """Sends until the client leaves, the session is deleted, or the server goes away.

        Raises:
            Refusal: SESSION_NOT_FOUND, SEQUENCE_AHEAD, JOURNAL_CHANGED, DRAINING.
        """
        place, tip = None, 0
        if request.session_id:
            place, tip = await self._journal.locate(self._who, request.session_id)
            _check_resumption(request, place, tip)
        number = None if place is None else place.number
        owner = self._who if request.include_sessions else None
        # Registered before the first read: what is committed after that read wakes the watch.
        with self._journal.hub.watch(number, owner) as watcher:
            try:
                await self._serve(request, place, tip, watcher)
            except Refusal as refusal:
                if place is not None and refusal.reason == error_reason_pb2.ERROR_REASON_SESSION_NOT_FOUND:
                    gone = Session(id=place.session_id, journal_id=place.journal_id, deleted=True)
                    await self._send_states([gone])
                raise

    async def _serve(self, request: pb.WatchRequest, place: Place | None, tip: int, watcher: Watcher) -> None:
        seen = None if place is None else await self._open(request, place, tip)
        if request.include_sessions:
            await self._send_sessions()
        while True:
            if place is not None and seen is not None:
                await self._catch_up(request, place, seen, watcher)
            await self._send_changed_sessions(watcher, place)
            if self._journal.hub.draining:
                raise draining()
            await watcher.wait(max(self._heartbeat_due - time.monotonic(), 0))
            if time.monotonic() >= self._heartbeat_due:
                await self._call.send(self._caught_up(0 if seen is None else seen.cursor))

    async def _open(self, request: pb.WatchRequest, place: Place, tip: int) -> Seen:
        asked = page_request(view=request.view, page_size=request.page_size, expand_sections=request.expand_sections)
        if not request.HasField("after_sequence"):
            return await self._send_page(place, asked)
        after = request.after_sequence
        if request.resume_limit and tip - after > request.resume_limit:
            return await self._send_page(place, asked)
        bar = None if asked.expanded else await self._journal.bar(self._who, place, after)
        return Seen(after, bar=bar.marker_sequence if bar is not None else 0)

    async def _send_page(self, place: Place, asked: PageRequest) -> Seen:
        """Sends the newest page with the session; if it is small, with the rest that makes the watcher whole."""
        page = await self._journal.page(self._who, place.session_id, asked, WATCH_BUDGET)
        if page.place != place:
            # Deleted and made anew since it was found: the watch is of a journal that is gone.
            raise journal_changed(place.session_id, page.place.journal_id)
        seen = Seen(page.info.latest_sequence, bar=page.info.hidden_sections.marker_sequence)
        tail = await self._journal.tail(self._who, place, face_of(asked.view), seen.cursor, 0)
        seen.session = tail.session
        whole = not page.rows.rest and tail.tip == seen.cursor
        caught_up = self._caught_up(tail.tip) if whole else b""
        seen.caught_up = whole
        await self._call.send(page_message(page.info, page.rows) + caught_up + sessions_field([tail.session]))
        rest = page.rows.rest
        # Let go of, so that a watch that stalls further on holds one message's rows at a time.
        del page, tail
        async for rows in stream_rows(self._journal, self._who, place, rest, WATCH_BUDGET):
            await self._call.send(rows_message(rows))
        return seen

    async def _catch_up(self, request: pb.WatchRequest, place: Place, seen: Seen, watcher: Watcher) -> None:
        """Sends what lies after the cursor, until it has reached the tip."""
        asked = page_request(view=request.view, expand_sections=request.expand_sections)
        while True:
            live = [*watcher.take_live()]
            tail = await self._journal.tail(self._who, place, face_of(asked.view), seen.cursor, WATCH_BUDGET)
            if tail.last == tail.tip:
                # What was published before the rows were read is older than they are. Behind, it is dropped.
                for update in live:
                    await self._call.send(live_message(update))
            await self._send_tail(tail, seen, expanded=asked.expanded)
            if tail.last == tail.tip:
                return
            if self._journal.hub.draining:
                raise draining()

    async def _send_tail(self, tail: Tail, seen: Seen, *, expanded: bool) -> None:
        rows = rows_message(tail.rows)
        at_tip = tail.last == tail.tip
        # In the order of their field numbers, as a serialized message has them.
        state = b""
        if at_tip and (tail.last > seen.cursor or not seen.caught_up):
            state = self._caught_up(tail.tip)
        seen.caught_up = at_tip
        bar = tail.bar.marker_sequence if tail.bar is not None else 0
        if at_tip and not expanded and bar != seen.bar:
            state += hidden_field(tail.bar.SerializeToString() if tail.bar is not None else b"")
            seen.bar = bar
        if tail.session != seen.session:
            state += sessions_field([tail.session])
        seen.cursor, seen.session = tail.last, tail.session
        if rows or state:
            await self._call.send(rows + state)

    def _caught_up(self, latest: int) -> bytes:
        self._heartbeat_due = time.monotonic() + self._heartbeat_seconds
        return caught_up_field(pb.CaughtUp(latest_sequence=latest).SerializeToString())

    async def _send_sessions(self) -> None:
        """Sends the latest prompted sessions, a message's worth at a time."""
        left, place = WATCHED_SESSIONS, None
        while left:
            sessions, place = await self._journal.sessions(self._who, SessionFilter(), left, place, WATCH_BUDGET)
            await self._send_states(sessions)
            if place is None:
                return
            left -= len(sessions)

    async def _send_changed_sessions(self, watcher: Watcher, watched: Place | None) -> None:
        changed, watcher.sessions = watcher.sessions, {}
        if watched is not None:
            changed.pop(watched.number, None)
        numbers = [*changed]
        for start in range(0, len(numbers), CHANGED_AT_ONCE):
            some = numbers[start : start + CHANGED_AT_ONCE]
            found = await self._journal.sessions_by_number(self._who, some)
            await self._send_states(
                session if session is not None else Session(id=changed[number], deleted=True)
                for number, session in zip(some, found, strict=True)
            )

    async def _send_states(self, sessions: Iterable[Session]) -> None:
        message = sessions_field([session.SerializeToString() for session in sessions])
        if message:
            await self._call.send(message)


def _check_resumption(request: pb.WatchRequest, place: Place, tip: int) -> None:
    if request.journal_id and request.journal_id != place.journal_id:
        raise journal_changed(place.session_id, place.journal_id)
    if request.HasField("after_sequence") and request.after_sequence > tip:
        raise sequence_ahead("after_sequence", request.after_sequence, tip)
