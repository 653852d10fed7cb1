"""An embedded store, whose inside the tests of this folder may look at."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from journal.stores import Clock, SqliteStore
from transcript_server.journal.sqlite import SqliteJournal


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    """The folder's tests are of this store alone."""
    return SqliteStore(tmp_path / "data")


@pytest.fixture
async def indexed_store(store: SqliteStore, clock: Clock) -> AsyncIterator[SqliteJournal]:
    """An open store, for all examples of a property."""
    yield await store.open(clock)
    await store.close()
