"""Watching a session: one stream to the caller, over as many calls as it takes."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING

import grpc

from transcript.backoff import Backoff
from transcript.errors import JournalChanged, SequenceAhead, SessionNotFound, TranscriptError
from transcript.status import by_code
from transcript.v1.error_reason_pb2 import ErrorReason
from transcript.v1.transcript_service_pb2 import EventBatch, View, WatchRequest, WatchResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from transcript.calls import Calls

LOGGER = logging.getLogger("transcript")

STALLS = 3
"""Calls in a row that may break between their first row and CaughtUp before a watch begins anew."""


class Place:
    """How far a watcher has come: what a new call has to ask for, and which rows it had already."""

    def __init__(self, request: WatchRequest) -> None:
        """*request*: as the caller made it."""
        self._request = request
        # The bar above the transcript is known as of a CaughtUp only, so a watch that has one goes on from
        # there, and passes over the rows that it had. Without a bar the last row is enough.
        self._has_bar = not request.expand_sections and request.view != View.VIEW_JOURNAL
        self._journal_id = request.journal_id
        # Where the next call goes on; None: it asks for a page, since none has come whole.
        self._after = request.after_sequence if request.HasField("after_sequence") else None
        self._newest = self._after or 0
        self._stalls = 0
        # Of the running call:
        self._had_rows = False
        self._caught_up = False
        self.deleted = False

    @property
    def resumes(self) -> bool:
        """Whether the next call goes on where this one is, instead of asking for a page."""
        return self._after is not None

    def request(self) -> WatchRequest:
        """What the next call asks for."""
        request = WatchRequest()
        request.CopyFrom(self._request)
        request.ClearField("after_sequence")
        request.ClearField("journal_id")
        if self._after is not None:
            request.after_sequence = self._after
            request.journal_id = self._journal_id
        self._had_rows = self._caught_up = False
        return request

    def take(self, message: WatchResponse) -> bool:
        """Note what *message* says and take out of it the rows that were had; False if nothing is left."""
        if message.HasField("page"):
            # It says how far it reaches, but its rows may come later: only CaughtUp makes it whole.
            self.forget()
            self._journal_id = message.page.journal_id
        for session in message.sessions:
            if session.id == self._request.session_id:
                self._journal_id = session.journal_id or self._journal_id
                self.deleted = self.deleted or session.deleted
        if message.HasField("events"):
            self._take_rows(message)
        if message.HasField("caught_up") and self._request.session_id:
            latest = message.caught_up.latest_sequence
            self._newest = max(self._newest, latest)
            # Where there is a bar, it is known as of this row, even if rows beyond it were had before.
            self._after = max(self._after or 0, latest) if self._has_bar else self._newest
            self._caught_up = True
            self._stalls = 0
        return message.ByteSize() > 0

    def _take_rows(self, message: WatchResponse) -> None:
        self._had_rows = True
        fresh = []
        for event in message.events.events:
            if event.sequence > self._newest:
                self._newest = event.sequence
                fresh.append(event)
        if len(fresh) < len(message.events.events):
            message.events.CopyFrom(EventBatch(events=fresh))
            if not fresh:
                message.ClearField("events")
        if self.resumes and not self._has_bar:
            self._after = self._newest

    def broken(self) -> None:
        """The call broke off: choose where the next one begins."""
        if self.resumes and self._has_bar and self._had_rows and not self._caught_up:
            # The next call begins where this one did. Again and again would be no progress, a page is.
            self._stalls += 1
            if self._stalls == STALLS:
                self.forget()

    def forget(self) -> None:
        """Drop everything: what comes next is a page."""
        self._after = None
        self._journal_id = ""
        self._newest = 0
        self._stalls = 0


async def watch(
    calls: Calls,
    request: WatchRequest,
    *,
    on_break: Callable[[TranscriptError, float], None] | None,
) -> AsyncGenerator[WatchResponse, None]:
    """See Client.watch."""
    loop = asyncio.get_running_loop()
    place = Place(request)
    backoff = Backoff()
    patience: float | None = loop.time() + calls.timeout  # for the first message of all
    while True:
        try:
            stream = calls.stream(calls.transcript.Watch, place.request(), silence=calls.silence)
            async with aclosing(stream):
                async for message in stream:
                    patience = None
                    if place.take(message):
                        yield message
                    if place.deleted:
                        raise _not_found(request.session_id)
                    if place.resumes or not request.session_id:
                        backoff.reset()  # half a page is no progress
            # A watch has no end of its own: whatever closed the stream, it was cut.
            raise by_code(grpc.StatusCode.UNAVAILABLE, f"the stream ended (server {calls.target})")
        except (JournalChanged, SequenceAhead):
            if not place.resumes:
                raise
            place.forget()
        except TranscriptError as error:
            place.broken()
            delay = backoff.after(error)
            if delay is None or (patience is not None and loop.time() + delay > patience):
                raise
            LOGGER.info("watch of %r broke off, again in %.1f s: %s", request.session_id, delay, error)
            if on_break is not None:
                on_break(error, delay)
            await asyncio.sleep(delay)


def _not_found(session_id: str) -> SessionNotFound:
    return SessionNotFound(
        ErrorReason.ERROR_REASON_SESSION_NOT_FOUND,
        "the session was deleted",
        {"session_id": session_id},
        code=grpc.StatusCode.NOT_FOUND,
    )
