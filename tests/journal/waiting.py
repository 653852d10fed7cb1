"""Waiting for what a store does by itself, without guessing how long it takes."""

from __future__ import annotations

import asyncio

from .stores import Store

PATIENCE = 10.0


async def gone(store: Store, number: int) -> None:
    """Waits until no table has anything of a journal."""
    async with asyncio.timeout(PATIENCE):
        while await store.left_of(number):
            await asyncio.sleep(0.005)
