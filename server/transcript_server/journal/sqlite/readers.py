"""Read-only connections, one for each thread of a small pool.

Reads are short: an open read keeps the write-ahead log from being reset, so none lasts while a client is
waited for.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

import apsw

THREADS: Final = 4
STATEMENTS: Final = 256

Result = TypeVar("Result")
Read = Callable[[apsw.Connection], Result]


def keep_plans(connection: apsw.Connection) -> None:
    """Has a statement planned once, and not anew for each binding: every query names its index already."""
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


class Readers:
    """Runs reads, each in one snapshot."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._pool = ThreadPoolExecutor(THREADS, "transcript-reader")

    async def do(self, read: Read[Result]) -> Result:
        """Runs a read; everything that it sees is of one moment."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._snapshot, read)

    async def close(self) -> None:
        """Waits for reads under way, and closes the connections."""
        await asyncio.to_thread(self._pool.shutdown)
        for connection in self._connections:
            connection.close()

    def _snapshot(self, read: Read[Result]) -> Result:
        connection = self._connection()
        connection.execute("BEGIN")
        try:
            return read(connection)
        finally:
            connection.execute("COMMIT")

    def _connection(self) -> apsw.Connection:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = apsw.Connection(
                str(self._path), flags=apsw.SQLITE_OPEN_READONLY, statementcachesize=STATEMENTS
            )
            connection.set_busy_timeout(5000)
            keep_plans(connection)
            connection.pragma("query_only", True)
            self._local.connection = connection
            self._connections.append(connection)
        return connection
