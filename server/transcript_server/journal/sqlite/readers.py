"""Read-only connections, one for each of a few threads.

Reads are short: an open read keeps the write-ahead log from being reset, so none lasts while a client is
waited for. The threads take from one queue, which costs a call less than an executor does.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import apsw

THREADS: Final = 4
STATEMENTS: Final = 256

Result = TypeVar("Result")
Read = Callable[[apsw.Connection], Result]


class Readers:
    """Runs reads, each in one snapshot.

    Args:
        connections: By `open_to_read`; each belongs to a thread from now on.
    """

    def __init__(self, connections: Sequence[apsw.Connection]) -> None:
        self._loop = asyncio.get_running_loop()
        self._asked: queue.SimpleQueue[tuple[Read[Any], asyncio.Future[Any]] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, args=(connection,), name=f"transcript-reader-{number}", daemon=True)
            for number, connection in enumerate(connections)
        ]
        for thread in self._threads:
            thread.start()

    async def do(self, read: Read[Result]) -> Result:
        """Runs a read; everything that it sees is of one moment."""
        future: asyncio.Future[Result] = self._loop.create_future()
        self._asked.put((read, future))
        return await future

    async def close(self) -> None:
        """Finishes what was asked for, and closes the connections."""
        for _ in self._threads:
            self._asked.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)

    def _run(self, connection: apsw.Connection) -> None:
        while (asked := self._asked.get()) is not None:
            read, future = asked
            try:
                result, error = _snapshot(connection, read), None
            except Exception as raised:  # noqa: BLE001 - it is the asker's to handle
                result, error = None, raised
            self._loop.call_soon_threadsafe(_deliver, future, result, error)
        connection.close()


def open_to_read(path: Path) -> apsw.Connection:
    """A connection that cannot write."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, statementcachesize=STATEMENTS)
    connection.set_busy_timeout(5000)
    keep_plans(connection)
    connection.pragma("query_only", True)
    return connection


def keep_plans(connection: apsw.Connection) -> None:
    """Has a statement planned once, and not anew for each binding: every query names its index already."""
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)


def _snapshot(connection: apsw.Connection, read: Read[Result]) -> Result:
    connection.execute("BEGIN")
    try:
        return read(connection)
    finally:
        connection.execute("COMMIT")


def _deliver(future: asyncio.Future[Any], result: object, error: Exception | None) -> None:
    if future.cancelled():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
