"""Waiting for what must come, without guessing how long it takes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

PATIENCE = 20.0


async def eventually(holds: Callable[[], Awaitable[bool]], patience: float = PATIENCE) -> None:
    """Asks again and again until it holds; fails once patience is over."""
    deadline = time.monotonic() + patience
    while not await holds():
        assert time.monotonic() < deadline, "it never came about"
        await asyncio.sleep(0.01)


async def stays(holds: Callable[[], Awaitable[bool]], seconds: float) -> None:
    """Asks again and again for a while; it must hold each time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert await holds()
        await asyncio.sleep(0.01)
