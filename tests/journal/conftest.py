"""Every test of the contract is run on every store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from transcript_server.journal.journal import Journal

from .callers import SOMEBODY_ELSE, Caller
from .stores import STORES, Clock, Store


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """A database of the test's own; what is open of it is closed at the end."""
    store = STORES[request.param](tmp_path / "data")
    yield store
    await store.close()


@pytest.fixture
def clock() -> Clock:
    """What the journal takes for the time."""
    return Clock()


@pytest.fixture
async def journal(store: Store, clock: Clock) -> Journal:
    """An open journal."""
    return await store.open(clock)


@pytest.fixture
def caller(journal: Journal) -> Caller:
    """Who calls it."""
    return Caller(journal)


@pytest.fixture
def stranger(journal: Journal) -> Caller:
    """Another principal."""
    return Caller(journal, SOMEBODY_ELSE)
