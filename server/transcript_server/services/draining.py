"""How calls that would go on for long end when the server goes away: told to resume, and never in mid-work."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

from transcript.v1 import error_reason_pb2
from transcript_server.journal.hub import Hub
from transcript_server.rules.errors import Refusal

Item = TypeVar("Item")


def draining() -> Refusal:
    """The server is going away."""
    return Refusal(error_reason_pb2.ERROR_REASON_DRAINING, "the server is going away; connect anew and resume")


async def until_draining(requests: AsyncIterator[Item], hub: Hub) -> AsyncIterator[Item]:
    """A call's requests as they come, until the server goes away; what it does with one is never cut short.

    Raises:
        Refusal: DRAINING.
    """
    task = asyncio.current_task()
    waiting = False

    def stop_waiting() -> None:
        if waiting and task is not None:
            task.cancel()

    take_back = hub.on_drain(stop_waiting)
    try:
        while not hub.draining:
            waiting = True
            try:
                item = await anext(requests)
            except StopAsyncIteration:
                return
            finally:
                waiting = False
            yield item
    except asyncio.CancelledError:
        if not hub.draining or task is None:
            raise
        task.uncancel()
    finally:
        take_back()
    raise draining()
