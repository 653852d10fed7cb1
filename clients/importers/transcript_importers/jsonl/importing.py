"""Exported files → sessions of a server: what is there already is compared, the rest is appended."""

from __future__ import annotations

import re
from contextlib import aclosing
from itertools import count
from typing import TYPE_CHECKING

from transcript import SequenceMismatch, SessionExists, SessionNotFound, TranscriptError
from transcript.v1.session_pb2 import Session
from transcript_importers.failures import OF_ONE_FILE, told
from transcript_importers.jsonl.as_sent import as_sent, is_recorded_as
from transcript_importers.jsonl.batches import Batches, Inseparable
from transcript_importers.jsonl.row_file import Broken, RowFile
from transcript_importers.report import FileReport, Progress

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from pathlib import Path

    from transcript import Client
    from transcript.v1.event_pb2 import Event

    Watcher = Callable[[Progress], None]

_ROWS_PER_PROGRESS = 200
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_ELSEWHERE = "import the file as another session (--session ID), or delete this one first"


class Refused(Exception):  # noqa: N818 - an answer, not a fault of the import
    """The file cannot be imported, or no further; its text says why and what to do."""


async def import_files(
    client: Client, paths: Sequence[Path], *, session_id: str = "", progress: Watcher | None = None
) -> AsyncGenerator[FileReport, None]:
    """Imports files one after the other; see `transcript_importers.import_jsonl`."""
    for path in paths:
        yield await FileImport(client, path, session_id, progress=progress).run()


class FileImport:
    """The import of one file."""

    def __init__(
        self,
        client: Client,
        path: Path,
        session_id: str = "",
        *,
        batches: Batches | None = None,
        progress: Watcher | None = None,
    ) -> None:
        """
        Args:
            client: The server.
            path: The file.
            session_id: The session to import to; if empty, that of the file's header, else the file's name.
            batches: How the rows are cut into appends.
            progress: Told now and then how far the file has been read.
        """
        self._client = client
        self._path = path
        self._session_id = session_id
        self._batches = batches or Batches()
        self._progress = progress
        self._file: RowFile | None = None
        self._rows = self._added = self._tip = 0

    async def run(self) -> FileReport:
        """Imports the file as far as it goes."""
        error = ""
        try:
            await self._import()
        except (Broken, Refused) as refused:
            error = str(refused)
        except Inseparable as refused:
            error = (
                f"{refused} take the places of a tool call and its result, which is done in one append; either more "
                "rows belong to it than an append takes, or the file was cut in the middle of it: export the session "
                "with more rows, or with fewer"
            )
        except (OSError, TranscriptError) as failure:
            error = told(failure)
        return self._report(error)

    async def _import(self) -> None:
        size = self._path.stat().st_size
        with self._path.open("rb") as source:
            file = self._file = RowFile(source)
            stored = await self._session(file.header)
            recorded = self._client.read_events(self._session_id, through_sequence=stored)
            async with aclosing(recorded):
                for number, (line, event) in zip(count(1), file.rows(), strict=False):
                    row = _checked(event, line, number)
                    self._rows += 1
                    if number <= stored:
                        self._compare(row, await anext(recorded), line)
                    else:
                        for batch in self._batches.add(row):
                            await self._append(batch)
                    if number % _ROWS_PER_PROGRESS == 0:
                        self._tell(file.done_bytes, size)
        for batch in self._batches.rest():
            await self._append(batch)
        self._tell(size, size)

    async def _session(self, header: Session | None) -> int:
        """Makes the session if there is none.

        Returns:
            The last row that it has.
        """
        known = header or Session()
        self._session_id = self._session_id or known.id or self._path.stem
        if not _ID.fullmatch(self._session_id):
            named = "the header's id" if known.id and known.id == self._session_id else "the file's name"
            raise Refused(
                f"{named}, {self._session_id[:140]!r}, is no session's id (1 to 128 of A-Z a-z 0-9 . _ -, the first a "
                "letter or digit); name the session: --session ID"
            )
        try:
            session = await self._client.get_session(self._session_id)
        except SessionNotFound:
            try:
                session = await self._client.create_session(
                    self._session_id, known.title, known.labels, known.kind, known.parent_session_id
                )
            except SessionExists:
                session = await self._client.get_session(self._session_id)  # Another import was faster.
        self._tip = session.latest_sequence
        return self._tip

    def _compare(self, row: Event, stored: Event, line: int) -> None:
        if not is_recorded_as(row, stored):
            raise Refused(
                f"line {line} differs from row {stored.sequence} of the session {self._session_id}, which went on in "
                f"another way; {_ELSEWHERE}"
            )
        self._batches.pass_over(row)

    async def _append(self, batch: list[Event]) -> None:
        """Appends where the journal is known to end: every row has to land at its own sequence."""
        first, last = self._tip + 1, self._tip + len(batch)
        try:
            response = await self._client.append(
                self._session_id, batch, expected_latest_sequence=self._tip, as_recorded=True
            )
        except SequenceMismatch as mismatch:
            raise Refused(
                f"somebody else wrote to the session {self._session_id} meanwhile; {_ELSEWHERE}"
            ) from mismatch
        except OF_ONE_FILE as failed:
            raise Refused(f"rows {first} to {last}: {failed}") from failed
        self._added += len(batch)
        self._tip = response.latest_sequence
        if response.sequences[0] != first:
            raise Refused(
                f"a turn was ended as idle before row {first}, so that later rows have other numbers now; {_ELSEWHERE}"
            )

    def _tell(self, done: int, size: int) -> None:
        if self._progress is not None:
            self._progress(Progress(str(self._path), done, size))

    def _report(self, error: str) -> FileReport:
        return FileReport(
            file=str(self._path),
            session_id=self._session_id,
            lines=self._file.lines if self._file else 0,
            rows=self._rows,
            added=self._added,
            foreign=0,
            unreadable=0,
            error=error,
        )


def _checked(event: Event, line: int, number: int) -> Event:
    """The row as it is to be sent, if it is the next one."""
    if event.sequence not in (0, number):
        do = "a file holds all rows from the first one on: export the session again"
        raise Broken(line, f"has row {event.sequence} where row {number} is expected", do=do)
    row = as_sent(event)
    # So that importing it again finds the row.
    row.id = row.id or f"row-{number}"
    return row
