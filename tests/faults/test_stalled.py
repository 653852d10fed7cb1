"""A reader that stalls costs the server little, and loses nothing (rule 29)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from transcript.v1.event_pb2 import AssistantMessage, Event
from transcript.v1.transcript_service_pb2 import VIEW_FULL, WatchRequest

from .process import Process, calling

STALLED = 16
ROWS = 600
ROW_BYTES = 32 << 10
ALLOWED = 80 << 20


async def test_rule_29_stalled_watchers_hold_bounded_memory_and_lose_no_row(tmp_path: Path):
    """Sixteen that stop reading while 20 MB are written: all of it buffered for each would be 300 MB."""
    async with Process(tmp_path / "data") as server, calling(server.address) as caller:
        await caller.create("a")
        request = WatchRequest(session_id="a", view=VIEW_FULL, after_sequence=0)
        async with calling(server.address) as other:
            stalled = [other.transcript.Watch(request) for _ in range(STALLED)]
            for stream in stalled:
                await stream.read()
            healthy = caller.transcript.Watch(request)
            row = Event(assistant_message=AssistantMessage(text="x" * ROW_BYTES))
            await caller.append("a", row)
            before = server.memory()
            for _ in range(ROWS // 10):
                await caller.append("a", *[row] * 10)
            seen = await asyncio.wait_for(all_of(healthy), 60)
            grown = server.memory() - before
            healthy.cancel()
            assert seen == list(range(1, ROWS + 2))
            assert grown < ALLOWED, grown
            for stream in stalled[:2]:
                assert await asyncio.wait_for(all_of(stream), 60) == seen
            for stream in stalled:
                stream.cancel()


async def all_of(stream) -> list[int]:
    """The sequences that come until the last row has come."""
    seen: list[int] = []
    while not seen or seen[-1] < ROWS + 1:
        message = await stream.read()
        seen += [row.sequence for row in message.events.events]
    return seen
