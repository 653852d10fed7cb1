"""Appending: rows get their ids before they are sent, so that what is sent again is recorded once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable
from typing import TYPE_CHECKING

import grpc

from transcript.backoff import Backoff
from transcript.errors import TranscriptError
from transcript.ids import new_id
from transcript.status import by_code
from transcript.v1.journal_service_pb2 import (
    AppendEventsRequest,
    AppendEventsResponse,
    StreamAppendEventsRequest,
    StreamAppendEventsResponse,
)
from transcript.writing import close_writing, named, written

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    import grpc.aio

    from transcript.calls import Calls

    Batches = AsyncIterable[AppendEventsRequest] | Iterable[AppendEventsRequest]
    Call = grpc.aio.StreamStreamCall[StreamAppendEventsRequest, StreamAppendEventsResponse]

WINDOW = 32
"""Batches that may be on their way at once, unanswered: what has to be kept to send them again."""


def mint_ids(request: AppendEventsRequest) -> None:
    """Give an id to each row of *request* that has none."""
    for event in request.events:
        if not event.id:
            event.id = new_id()


async def stream_append(calls: Calls, batches: Batches) -> AsyncGenerator[AppendEventsResponse, None]:
    """See Client.stream_append."""
    outbox = Outbox()
    feeding = asyncio.create_task(outbox.feed(batches))
    loop = asyncio.get_running_loop()
    backoff = Backoff()
    give_up: float | None = None
    try:
        while True:
            calls.check_open()
            call = calls.journal.StreamAppendEvents(metadata=calls.metadata)
            writing = asyncio.create_task(outbox.write(call))
            try:
                while (response := await calls.read(call)) is not None:
                    outbox.answered(calls.target)
                    backoff.reset()
                    give_up = None
                    yield response.append
                if outbox.done:
                    break
                raise by_code(grpc.StatusCode.UNAVAILABLE, f"the stream ended (server {calls.target})")
            except TranscriptError as seen:
                error = named(seen, write_failed=outbox.write_failed)
                delay = backoff.after(error)
                if delay is None and outbox.in_flight > 1:
                    # Which of them the error is of shows when they are sent again, one by one.
                    delay = 0
                give_up = give_up or loop.time() + calls.timeout
                if delay is None or loop.time() + delay > give_up:
                    raise error from seen.__cause__
            finally:
                call.cancel()
                writing.cancel()
                await asyncio.wait([writing])
            await asyncio.sleep(delay)
        # What the caller's iterator raised, once all before it is answered.
        await feeding
    finally:
        feeding.cancel()
        await asyncio.wait([feeding])


class Outbox:
    """Batches on their way: read from the caller, sent, kept until answered."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(WINDOW)
        self._waiting: asyncio.Queue[AppendEventsRequest | None] = asyncio.Queue()
        self._unanswered: deque[AppendEventsRequest] = deque()
        self._answer = asyncio.Event()
        self._all_read = False
        self.in_flight = 0
        """Batches that were sent over the call of now, and not answered."""
        self.write_failed = False

    @property
    def done(self) -> bool:
        """Whether the caller has no more batches and all are answered."""
        return self._all_read and not self._unanswered

    async def feed(self, batches: Batches) -> None:
        """Read the caller's batches, no more than WINDOW ahead of the answers."""
        try:
            if isinstance(batches, AsyncIterable):
                async for batch in batches:
                    await self._put(batch)
            else:
                for batch in batches:
                    await self._put(batch)
        finally:
            self._waiting.put_nowait(None)

    async def _put(self, batch: AppendEventsRequest) -> None:
        await self._room.acquire()
        copy = AppendEventsRequest()
        copy.CopyFrom(batch)
        mint_ids(copy)
        self._waiting.put_nowait(copy)

    async def write(self, call: Call) -> None:
        """Send what is unanswered, one after the other, then what the caller brings, at once.

        May be cancelled, and begun anew with another call.
        """
        self.in_flight = 0
        self.write_failed = False
        for batch in tuple(self._unanswered):
            self._answer.clear()
            if not await self._sent(call, batch):
                return
            await self._answer.wait()
        while not self._all_read:
            batch_or_end = await self._waiting.get()
            if batch_or_end is None:
                self._all_read = True
                break
            self._unanswered.append(batch_or_end)
            if not await self._sent(call, batch_or_end):
                return
        await close_writing(call)

    async def _sent(self, call: Call, batch: AppendEventsRequest) -> bool:
        self.in_flight += 1
        self.write_failed = not await written(call, StreamAppendEventsRequest(append=batch))
        return not self.write_failed

    def answered(self, target: str) -> None:
        """The oldest batch that was sent is recorded."""
        if not self._unanswered:
            raise by_code(grpc.StatusCode.INTERNAL, f"an answer without a batch (server {target})")
        self._unanswered.popleft()
        self.in_flight -= 1
        self._room.release()
        self._answer.set()
