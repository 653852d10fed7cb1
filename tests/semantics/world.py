"""What the properties share: a server with a loop of its own, and how often each is tried."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc.aio
from hypothesis import HealthCheck, settings

from transcript_server.app import Config, serving

from .wire import OPTIONS, Wire

THOROUGH = os.environ.get("TRANSCRIPT_THOROUGH") == "1"
FACTOR = 20 if THOROUGH else 1


class World:
    """A server on a store of its own, and a loop on which to talk to it."""

    wire: Wire

    def __init__(self, runner: asyncio.Runner, data: Path) -> None:
        self.runner = runner
        self.config = Config(data=data, grpc="127.0.0.1:0")
        self.stack = AsyncExitStack()
        self.numbers = itertools.count(1)

    async def start(self) -> None:
        """Serves."""
        running = await self.stack.enter_async_context(serving(self.config))
        channel = grpc.aio.insecure_channel(running.address, options=OPTIONS)
        self.wire = Wire(await self.stack.enter_async_context(channel))

    async def stop(self) -> None:
        """Ends the server as SIGTERM does."""
        await self.stack.aclose()

    async def restart(self) -> None:
        """Ends it, and serves the same store anew; elsewhere, so `wire` is another one then."""
        await self.stop()
        await self.start()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Runs it to its end."""
        return self.runner.run(coroutine)

    def new_id(self) -> str:
        """A session id that nobody used."""
        return f"session-{next(self.numbers)}"


def examples(count: int, thorough: int | None = None) -> settings:
    """How often a property is tried: more often by TRANSCRIPT_THOROUGH=1."""
    return settings(
        max_examples=(thorough or count * FACTOR) if THOROUGH else count,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        print_blob=True,
    )
