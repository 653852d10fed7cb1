"""Waiting for what a store does by itself, without guessing how long it takes."""

from __future__ import annotations

from semantics.polling import eventually

from .stores import Store

PATIENCE = 10.0


async def gone(store: Store, number: int) -> None:
    """Waits until no table has anything of a journal."""

    async def is_gone() -> bool:
        return not await store.left_of(number)

    await eventually(is_gone, PATIENCE)
