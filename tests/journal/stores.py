"""The databases that the contract is tried on, each behind the same few words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import apsw

from transcript_server.journal.journal import Journal
from transcript_server.journal.sqlite import SqliteJournal

HOUR = 3600.0


class Clock:
    """A clock that only the test moves; microseconds since 1970."""

    def __init__(self) -> None:
        self.now_us = 1_800_000_000_000_000

    def __call__(self) -> int:
        return self.now_us

    def forward(self, seconds: float) -> None:
        """Lets time pass; backwards if below zero."""
        self.now_us += round(seconds * 1_000_000)


class Store(Protocol):
    """One database, and how its journals are opened."""

    async def open(self, now_us: Callable[[], int], idle_timeout_seconds: float = HOUR) -> Journal:
        """Opens it; made at the first time."""
        ...

    async def close(self) -> None:
        """Closes what is open."""
        ...

    async def left_of(self, number: int) -> dict[str, int]:
        """How many rows each table has of a journal, by the store's number for it; tables without any left out."""
        ...


class SqliteStore:
    """The embedded store, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._journal: SqliteJournal | None = None

    async def open(self, now_us: Callable[[], int], idle_timeout_seconds: float = HOUR) -> SqliteJournal:
        self._journal = await SqliteJournal.open(self.folder, idle_timeout_seconds=idle_timeout_seconds, now_us=now_us)
        return self._journal

    async def close(self) -> None:
        if self._journal is not None:
            await self._journal.close()
        self._journal = None

    async def left_of(self, number: int) -> dict[str, int]:
        connection = apsw.Connection(str(self.folder / "transcript.sqlite3"), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            return {
                table: count for table in _tables(connection) if (count := _rows_of_number(connection, table, number))
            }
        finally:
            connection.close()


# What is not of any one journal.
_SHARED_TABLES = {"meta", "numbers", "sqlite_sequence"}


def _tables(connection: apsw.Connection) -> list[str]:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return [name for (name,) in found if name not in _SHARED_TABLES]


def _rows_of_number(connection: apsw.Connection, table: str, number: int) -> int:
    columns = {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")}
    if "number" in columns:
        bounds = "number = ?1"
    else:
        assert "key" in columns, f"{table} belongs to no journal"
        bounds = "key >> 32 = ?1"
    (count,) = connection.execute(f"SELECT count(*) FROM {table} WHERE {bounds}", (number,)).fetchone() or (0,)
    return int(count)


STORES: dict[str, Callable[[Path], Store]] = {"sqlite": SqliteStore}
"""Every store there is; the contract is tried on each."""
