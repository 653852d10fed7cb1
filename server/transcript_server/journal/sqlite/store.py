"""The store's port on SQLite: each call as a read in one snapshot, or as jobs of the writer."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import logging
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import IO, Any, Final, Self, TypeVar

import apsw

from transcript.v1 import error_reason_pb2
from transcript.v1.session_pb2 import Session
from transcript.v1.transcript_service_pb2 import HiddenSections, Section
from transcript_server.journal.hub import Hub
from transcript_server.journal.journal import (
    Appended,
    Context,
    Face,
    ListPosition,
    Page,
    Place,
    Principal,
    Rows,
    SessionFilter,
    Span,
    Tail,
)
from transcript_server.journal.lane import Lane
from transcript_server.journal.sqlite import contexts, copying, markers, reading, removal, rows, sessions, views
from transcript_server.journal.sqlite.appending import Append
from transcript_server.journal.sqlite.heads import (
    BY_NUMBER,
    EXPIRED,
    Head,
    TurnExpired,
    base_of,
    find,
    find_unexpired,
    head_of,
    touch,
)
from transcript_server.journal.sqlite.queries import each, first, only
from transcript_server.journal.sqlite.readers import THREADS, Readers, keep_plans, open_to_read
from transcript_server.journal.sqlite.schema import PAGE_BYTES, NewerSchema, migrate
from transcript_server.journal.sqlite.writer import Changes, Job, Writer
from transcript_server.rules.errors import Refusal
from transcript_server.rules.intake import Draft
from transcript_server.rules.pages import PageRequest

SWEEP_SECONDS: Final = 0.5
"""How long a turn may lie past its deadline before it is ended without anybody coming."""
LEAST_SQLITE: Final = (3, 51, 3)
"""Below this, a write-ahead log can be corrupted as it is reset."""

Result = TypeVar("Result")
Clock = Callable[[], int]
_TailKey = tuple[Principal, int, Face, int, int, int]
_log = logging.getLogger(__name__)


class StoreUnusable(Exception):  # noqa: N818 - says what is the case
    """The store cannot be opened; the text says why, and what to do."""


class StoreInUse(StoreUnusable):
    """Another server has the data folder open."""


def _now_us() -> int:
    return time.time_ns() // 1000


class SqliteJournal:
    """Journals in one SQLite file; see `Journal` for what each call promises.

    Made by `open`, ended by `close`.

    Args:
        lock: The open lock file; held while the store is.
        writer: The writing connection, migrated.
        readers: The reading ones.
        idle_timeout_seconds: How long a turn may lie idle that does not say.
        now_us: The clock, in microseconds since 1970.
    """

    def __init__(
        self,
        lock: IO[str],
        writer: apsw.Connection,
        readers: Sequence[apsw.Connection],
        idle_timeout_seconds: float,
        now_us: Clock,
    ) -> None:
        self._lock = lock
        self._now_us = now_us
        self._idle_us = int(idle_timeout_seconds * 1_000_000)
        self.hub = Hub()
        self.secret = _secret(writer)
        self._writer = Writer(writer, self.hub.committed)
        self._readers = Readers(readers)
        self._tails: dict[_TailKey, asyncio.Task[Tail]] = {}
        self._to_take_away = asyncio.Event()
        self._to_take_away.set()
        self._background: set[asyncio.Task[Any]] = set()
        self._spawn(self._sweep())
        self._spawn(self._take_away_hidden())

    @classmethod
    async def open(cls, folder: Path, *, idle_timeout_seconds: float, now_us: Clock = _now_us) -> Self:
        """Opens the store in a folder, which is made if it is missing.

        Raises:
            StoreInUse: Another server has it open.
            StoreUnusable: It was written by a newer version, it is no database, or SQLite is too old to be safe.
            OSError: The folder cannot be made or written.
        """
        lock, writer, readers = await asyncio.to_thread(_open_files, folder)
        return cls(lock, writer, readers, idle_timeout_seconds, now_us)

    async def close(self) -> None:
        while self._background:
            for task in self._background:
                task.cancel()
            await asyncio.gather(*self._background, return_exceptions=True)
        await self._writer.close()
        await self._readers.close()
        self._lock.close()

    async def create_session(self, who: Principal, session: Session) -> Session:
        def job(connection: apsw.Connection, changes: Changes) -> Session:
            head = sessions.create(connection, who, session, self._now_us())
            changes.add(who, head.number, head.session_id)
            return sessions.session_of(connection, head)

        return await self._writer.do(job)

    async def session(self, who: Principal, session_id: str) -> Session:
        return await self._read_head(who, session_id, sessions.session_of)

    async def sessions(
        self, who: Principal, which: SessionFilter, limit: int, after: ListPosition | None, budget: int | None = None
    ) -> tuple[Sequence[Session], ListPosition | None]:
        return await self._read(
            lambda connection, now_us: sessions.listed(connection, who, which, limit, after, budget, now_us)
        )

    async def sessions_by_number(self, who: Principal, numbers: Sequence[int]) -> Sequence[Session | None]:
        return await self._read(lambda connection, now_us: sessions.by_number(connection, who, numbers, now_us))

    async def update_session(self, who: Principal, session: Session, paths: frozenset[str]) -> Session:
        def job(connection: apsw.Connection, changes: Changes) -> Session:
            head = find_unexpired(connection, who, session.id, self._now_us())
            changes.add(who, head.number, head.session_id)
            return sessions.session_of(connection, sessions.update(connection, head, session, paths))

        return await self._write(job)

    async def delete_session(self, who: Principal, session_id: str) -> None:
        def job(connection: apsw.Connection, changes: Changes) -> None:
            head = find(connection, who, session_id)
            removal.hide(connection, head)
            changes.add(who, head.number, head.session_id)

        await self._writer.do(job)
        self._to_take_away.set()

    async def fork_session(self, who: Principal, source_id: str, through: int, session: Session) -> Session:
        # A caller that leaves takes nothing back: the copy is made whole, for the retry to find.
        return await asyncio.shield(self._spawn(self._fork(who, source_id, through, session)))

    async def _fork(self, who: Principal, source_id: str, through: int, session: Session) -> Session:
        begun = await self._write(
            lambda connection, _: copying.begin(connection, who, source_id, through, session, self._now_us())
        )
        if not isinstance(begun, copying.Copy):
            return await self.session(who, session.id)
        try:
            copy = begun
            while (further := await self._copy_some(copy)) is not None:
                copy = further
            return await self._finish_copy(copy)
        finally:
            # Of a copy that was finished, nothing is hidden any more; a racing one's, or half of one, is.
            await self._writer.do(lambda connection, _: removal.abandon(connection, begun.number))
            self._to_take_away.set()

    async def _finish_copy(self, copy: copying.Copy) -> Session:
        def job(connection: apsw.Connection, changes: Changes) -> Session:
            head = copying.finish(connection, copy, self._now_us(), self._idle_us)
            changes.add(copy.who, head.number, head.session_id)
            return sessions.session_of(connection, head)

        return await self._writer.do(job)

    async def _copy_some(self, copy: copying.Copy) -> copying.Copy | None:
        return await self._writer.do(lambda connection, _: copying.step(connection, copy))

    async def append(
        self,
        who: Principal,
        session_id: str,
        drafts: Sequence[Draft],
        *,
        expected: int | None = None,
        as_recorded: bool = False,
        lane: Lane | None = None,
    ) -> Appended:
        def job(connection: apsw.Connection, changes: Changes) -> Appended:
            head = find(connection, who, session_id)
            changes.add(who, head.number, session_id)
            try:
                return self._append(connection, head).rows(drafts, expected=expected, as_recorded=as_recorded)
            except TurnExpired:
                self._append(connection, head).interrupt()
                return self._append(connection, head).rows(drafts, expected=expected, as_recorded=as_recorded)

        return await self._writer.do(job, lane)

    async def touch(self, who: Principal, session_id: str) -> Place:
        def read(_: apsw.Connection, head: Head) -> tuple[Place, bool]:
            return head.place, head.wants_touch(self._now_us())

        place, wants = await self._read_head(who, session_id, read)
        if wants:
            await self._writer.do(lambda connection, _: touch(connection, place.number, self._now_us()))
        return place

    async def page(self, who: Principal, session_id: str, request: PageRequest, budget: int) -> Page:
        return await self._read_head(
            who, session_id, lambda connection, head: views.cut_page(connection, head, request, budget)
        )

    async def context(
        self,
        who: Principal,
        session_id: str,
        face: Face,
        *,
        as_of: int | None,
        exclude_running_prompt: bool,
        budget: int,
    ) -> Context:
        def read(connection: apsw.Connection, head: Head) -> Context:
            return contexts.read_context(
                connection, head, face, as_of, exclude_running_prompt=exclude_running_prompt, budget=budget
            )

        return await self._read_head(who, session_id, read)

    async def rows(self, who: Principal, place: Place, spans: Sequence[Span], budget: int) -> Rows:
        def read(connection: apsw.Connection) -> Rows:
            reading.check_place(connection, who, place)
            return rows.read(connection, base_of(place.number), spans, budget)

        return await self._readers.do(read)

    async def event(self, who: Principal, session_id: str, sequence: int) -> bytes:
        return await self._read_head(
            who, session_id, lambda connection, head: reading.whole_row(connection, head, sequence)
        )

    async def locate(self, who: Principal, session_id: str) -> tuple[Place, int]:
        return await self._read_head(who, session_id, lambda _, head: (head.place, head.tip))

    async def bar(self, who: Principal, place: Place, as_of: int) -> HiddenSections | None:
        def read(connection: apsw.Connection) -> HiddenSections | None:
            reading.check_place(connection, who, place)
            base = base_of(place.number)
            return markers.bar(connection, base, views.turn_start(connection, base, as_of))

        return await self._readers.do(read)

    async def tail(self, who: Principal, place: Place, face: Face, after: int, budget: int) -> Tail:
        # Watchers that wake together at the same row share one read, and the bytes that it makes.
        key = (who, place.number, face, after, budget, self.hub.version(place.number))
        task = self._tails.get(key)
        if task is None:
            task = asyncio.create_task(
                self._read(lambda connection, now_us: reading.tail(connection, who, place, face, after, budget, now_us))
            )
            self._tails[key] = task
            task.add_done_callback(lambda done: self._forget_tail(key, done))
        return await asyncio.shield(task)

    async def sections(
        self, who: Principal, session_id: str, after: int, limit: int
    ) -> tuple[Sequence[Section], int | None]:
        return await self._read_head(
            who, session_id, lambda connection, head: markers.contents(connection, head, after, limit)
        )

    async def _read_head(
        self, who: Principal, session_id: str, read: Callable[[apsw.Connection, Head], Result]
    ) -> Result:
        """Reads of a session that is found first."""
        return await self._read(
            lambda connection, now_us: read(connection, find_unexpired(connection, who, session_id, now_us))
        )

    async def _read(self, read: Callable[[apsw.Connection, int], Result]) -> Result:
        """Reads as of now; a turn past its deadline is ended before anybody sees it."""
        try:
            while True:
                try:
                    return await self._readers.do(lambda connection: read(connection, self._now_us()))
                except TurnExpired as expired:
                    await self._interrupt(expired.number)
        except Refusal as refusal:
            if refusal.reason != error_reason_pb2.ERROR_REASON_STORE_FULL:
                raise
            # No room to write the turn's end: reads go on all the same, as of a time before any deadline.
            return await self._readers.do(lambda connection: read(connection, 0))

    async def _write(self, job: Job[Result]) -> Result:
        while True:
            try:
                return await self._writer.do(job)
            except TurnExpired as expired:
                await self._interrupt(expired.number)

    def _append(self, connection: apsw.Connection, head: Head) -> Append:
        return Append(connection, head, self._now_us(), self._idle_us)

    async def _interrupt(self, number: int) -> None:
        def job(connection: apsw.Connection, changes: Changes) -> None:
            row = first(connection, BY_NUMBER, (number,))
            if row is not None:
                head = head_of(row)
                self._append(connection, head).interrupt()
                changes.add(head.owner, number, head.session_id)

        await self._writer.do(job)

    def _forget_tail(self, key: _TailKey, done: asyncio.Task[Tail]) -> None:
        self._tails.pop(key, None)
        if not done.cancelled():
            # Every watcher that wanted it may have left by now.
            done.exception()

    async def _sweep(self) -> None:
        """Ends turns that lie past their deadline and that nobody asks for."""
        failing = False
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                overdue = await self._readers.do(lambda connection: [*each(connection, EXPIRED, (self._now_us(),))])
                for (number,) in overdue:
                    await self._interrupt(number)
                failing = False
            except (Refusal, apsw.Error) as error:
                # Once, and not twice a second onto a disk that is full.
                if not failing:
                    _log.warning("turns past their deadline cannot be ended: %s", error)
                failing = True

    async def _take_away_hidden(self) -> None:
        """Takes the rows of deleted sessions and of abandoned copies away, a step at a time."""
        failing = False
        while True:
            await self._to_take_away.wait()
            self._to_take_away.clear()
            try:
                for number in await self._readers.do(removal.hidden):
                    while not await self._take_away_some(number):
                        pass
                failing = False
            except (Refusal, apsw.Error) as error:
                # Taking away needs a little room itself, which others may just have taken: it goes on trying.
                if not failing:
                    _log.warning("rows of deleted sessions cannot be taken away: %s", error)
                failing = True
                self._to_take_away.set()
                await asyncio.sleep(SWEEP_SECONDS)

    async def _take_away_some(self, number: int) -> bool:
        return await self._writer.do(lambda connection, _: removal.step(connection, number))

    def _spawn(self, work: Coroutine[None, None, Result]) -> asyncio.Task[Result]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, Refusal):
            _log.error("work beside the calls failed", exc_info=error)


def _open_files(folder: Path) -> tuple[IO[str], apsw.Connection, Sequence[apsw.Connection]]:
    if tuple(int(part) for part in apsw.sqlite_lib_version().split(".")) < LEAST_SQLITE:
        raise StoreUnusable(f"SQLite {apsw.sqlite_lib_version()} can corrupt its log; install apsw 3.51.3 or newer")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / "transcript.sqlite3"
    with contextlib.ExitStack() as opened:
        lock = opened.enter_context((folder / "lock").open("w"))
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreInUse(
                f"another server has {folder} open; stop it, or choose another folder with --data"
            ) from None
        # Made here and not by SQLite, so that it and the files beside it are the owner's alone.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = opened.enter_context(contextlib.closing(apsw.Connection(str(path), statementcachesize=256)))
        try:
            _prepare(connection)
            readers = [opened.enter_context(contextlib.closing(open_to_read(path))) for _ in range(THREADS)]
        except (apsw.Error, NewerSchema) as error:
            raise StoreUnusable(f"{path} cannot be used: {error}") from error
        opened.pop_all()
        return lock, connection, readers


def _prepare(connection: apsw.Connection) -> None:
    connection.set_busy_timeout(5000)
    keep_plans(connection)
    connection.pragma("page_size", PAGE_BYTES)
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", "full")
    connection.pragma("trusted_schema", False)
    connection.pragma("journal_size_limit", 64 << 20)
    migrate(connection)
    removal.abandon(connection)


def _secret(connection: apsw.Connection) -> bytes:
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('secret', ?)", (os.urandom(32),))
    (secret,) = only(connection, "SELECT value FROM meta WHERE name = 'secret'")
    return bytes(secret)
