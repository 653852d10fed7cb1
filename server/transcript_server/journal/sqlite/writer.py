"""The one thread that writes: jobs that arrive while a commit runs share the next one (group commit).

Exactly one connection writes and checkpoints, which keeps clear of SQLite's WAL-reset bug and of lock waits.
Each job runs in a savepoint of its own, so one that is refused takes nothing of the others with it; when its
future is done, the commit that holds its rows has been flushed. A job may run twice, the first time for
nothing: it does the same then, also where it completed messages that it was given.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import apsw

from transcript.v1 import error_reason_pb2
from transcript_server.journal.lane import Lane, LaneClosed
from transcript_server.rules.errors import Refusal

GROUP_JOBS: Final = 256
"""Jobs that share a commit at most."""

Result = TypeVar("Result")
_log = logging.getLogger(__name__)


class Changes:
    """The sessions that a job changed, for the hub: (owner, number, id)."""

    def __init__(self) -> None:
        self.sessions: dict[tuple[str, int, str], None] = {}

    def add(self, owner: str, number: int, session_id: str) -> None:
        """Notes a session as changed."""
        self.sessions[owner, number, session_id] = None


Job = Callable[[apsw.Connection, Changes], Result]


@dataclass(slots=True)
class _Asked:
    job: Job[Any]
    future: asyncio.Future[Any]
    lane: Lane | None
    result: Any = None
    error: BaseException | None = None
    changes: Changes = field(default_factory=Changes)

    def fail(self, error: BaseException) -> None:
        """Notes that nothing of it was written, nor will be of what follows in its lane."""
        self.error = error
        if self.lane is not None:
            self.lane.failed = True


class Writer:
    """Runs jobs on the writing connection.

    Args:
        connection: The connection, which from now on belongs to the writer's thread.
        committed: Told, on the event loop, of every session that a commit changed.
    """

    def __init__(self, connection: apsw.Connection, committed: Callable[[str, int, str], None]) -> None:
        self._connection = connection
        self._committed = committed
        self._loop = asyncio.get_running_loop()
        self._asked: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="transcript-writer", daemon=True)
        self._thread.start()

    async def do(self, job: Job[Result], lane: Lane | None = None) -> Result:
        """Runs a job in the next commit; its rows are on stable storage when this returns.

        Jobs run in the order of their calls; one whose lane has failed does not run.

        Raises:
            Refusal: What the job raised, or STORE_FULL if the store has no room; nothing of it was written.
        """
        future: asyncio.Future[Result] = self._loop.create_future()
        self._asked.put(_Asked(job, future, lane))
        return await future

    async def close(self) -> None:
        """Finishes what was asked for, then closes the connection."""
        self._asked.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        open_ = True
        while open_:
            group: list[_Asked] = []
            asked = self._asked.get()
            while asked is not None:
                group.append(asked)
                if len(group) == GROUP_JOBS:
                    break
                try:
                    asked = self._asked.get_nowait()
                except queue.Empty:
                    break
            else:
                open_ = False
            if group:
                self._commit(group)
                self._loop.call_soon_threadsafe(self._deliver, group)
        self._connection.close()

    def _commit(self, group: list[_Asked]) -> None:
        open_lanes = {asked.lane for asked in group if asked.lane is not None and not asked.lane.failed}
        execute = self._connection.execute
        try:
            execute("BEGIN IMMEDIATE")
            for asked in group:
                self._attempt(asked)
            execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing of the group was committed
            self._roll_back()
            if len(group) == 1:
                group[0].fail(group[0].error or _as_refusal(error))
                return
            # One that finds no room takes the whole group with it: each gets a try of its own.
            for lane in open_lanes:
                lane.failed = False
            for asked in group:
                asked.error, asked.changes = None, Changes()
                self._commit([asked])

    def _roll_back(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except apsw.Error:
            # The next transaction cannot begin then, and each says so; the thread goes on answering.
            _log.exception("a transaction could not be rolled back")

    def _attempt(self, asked: _Asked) -> None:
        if asked.lane is not None and asked.lane.failed:
            asked.fail(LaneClosed())
            return
        self._connection.execute("SAVEPOINT job")
        try:
            asked.result = asked.job(self._connection, asked.changes)
        except Exception as error:
            if not self._connection.in_transaction:
                # A full disk ends the whole transaction: the jobs before this one are gone with it.
                raise
            self._connection.execute("ROLLBACK TO job")
            asked.fail(_as_refusal(error))
        self._connection.execute("RELEASE job")

    def _deliver(self, group: list[_Asked]) -> None:
        changed: dict[tuple[str, int, str], None] = {}
        for asked in group:
            if asked.error is None:
                changed |= asked.changes.sessions
            if asked.future.cancelled():
                continue
            if asked.error is None:
                asked.future.set_result(asked.result)
            else:
                asked.future.set_exception(asked.error)
        for session in changed:
            self._committed(*session)


def _as_refusal(error: Exception) -> Exception:
    if isinstance(error, apsw.FullError):
        return Refusal(error_reason_pb2.ERROR_REASON_STORE_FULL, "the store has no room; reads go on, retry later")
    return error
