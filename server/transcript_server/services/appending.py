"""A stream of appends: the next batches are read and taken in while those before them are committed.

Without this a stream pays a commit for each batch; with it, what arrives during a commit shares the next one.
Answers go out in order, and a batch that fails ends the stream with its error: those before it stand, those
after it are not taken.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from transcript.v1 import journal_service_pb2 as pb

WINDOW: Final = 64
"""Batches of one stream under way at most."""
WINDOW_BYTES: Final = 1 << 20
"""Bytes of batches under way beyond which no further one is read."""

Answer = asyncio.Task[pb.AppendEventsResponse]
Ask = Callable[[pb.StreamAppendEventsRequest], Awaitable[Answer]]


class AppendStream:
    """One stream of appends.

    Args:
        ask: Takes a batch in and asks the journal for it; returns the answer to come.
        send: Sends an answer.
    """

    def __init__(self, ask: Ask, send: Callable[[pb.StreamAppendEventsResponse], Awaitable[None]]) -> None:
        self._ask = ask
        self._send = send
        self._asked: deque[tuple[int, Answer]] = deque()
        self._bytes = 0
        self._all_asked = False
        self._changed = asyncio.Event()

    async def serve(self, requests: AsyncIterator[pb.StreamAppendEventsRequest]) -> None:
        """Answers until the client has sent all.

        Raises:
            Refusal: A batch failed, or the server goes away.
        """
        reading = asyncio.create_task(self._read(requests))
        answering = asyncio.create_task(self._answer())
        try:
            await asyncio.wait({reading, answering}, return_when=asyncio.FIRST_COMPLETED)
            self._all_asked = True
            self._changed.set()
            # What was asked for is answered first: also when a later batch was refused, or the server goes away.
            await answering
            await reading
        finally:
            left = [reading, answering, *(answer for _, answer in self._asked)]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _read(self, requests: AsyncIterator[pb.StreamAppendEventsRequest]) -> None:
        async for request in requests:
            self._asked.append((request.ByteSize(), await self._ask(request)))
            self._bytes += self._asked[-1][0]
            self._changed.set()
            while len(self._asked) >= WINDOW or self._bytes > WINDOW_BYTES:
                await self._change()

    async def _answer(self) -> None:
        while True:
            while self._asked:
                size, answer = self._asked[0]
                response = await answer
                self._asked.popleft()
                self._bytes -= size
                self._changed.set()
                await self._send(pb.StreamAppendEventsResponse(append=response))
            if self._all_asked:
                return
            await self._change()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()
