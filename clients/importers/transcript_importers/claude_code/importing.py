"""Files and folders of Claude Code logs → sessions of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transcript import TranscriptError
from transcript_importers.claude_code.files import log_files
from transcript_importers.claude_code.log import Log
from transcript_importers.claude_code.recognition import NotALog
from transcript_importers.failures import told
from transcript_importers.report import FileReport, Progress
from transcript_importers.sending import SessionSender

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from pathlib import Path

    from transcript import Client
    from transcript_importers.claude_code.conversation import Conversation

    Watcher = Callable[[Progress], None]

_ROWS_PER_PROGRESS = 200


async def import_files(
    client: Client, paths: Sequence[Path], *, progress: Watcher | None = None
) -> AsyncGenerator[FileReport, None]:
    """Imports logs one after the other; see `transcript_importers.import_claude_code`."""
    for path in log_files(paths):
        yield await _FileImport(client, path, progress).run()


class _FileImport:
    """The import of one file."""

    def __init__(self, client: Client, path: Path, progress: Watcher | None) -> None:
        self._client = client
        self._path = path
        self._progress = progress
        self._log: Log | None = None
        self._senders: dict[Conversation, SessionSender] = {}
        self._rows = self._foreign = 0

    async def run(self) -> FileReport:
        """Imports the file as far as it goes."""
        error = ""
        try:
            await self._import()
        except NotALog as refused:
            error = f"not a Claude Code log: {refused}"
        except (OSError, TranscriptError) as failure:
            error = told(failure)
        return self._report(error)

    async def _import(self) -> None:
        if self._path.is_dir():
            raise NotALog("the folder holds no .jsonl file")
        size = self._path.stat().st_size
        with self._path.open("rb") as source:
            log = self._log = Log(self._path, source)
            # The file's own session first: its agents' sessions stand under it.
            await self._sender(log.main).begin()
            for conversation, row in log.rows():
                self._rows += 1
                self._foreign += row.event.HasField("foreign_record")
                await self._sender(conversation).add(row)
                if self._rows % _ROWS_PER_PROGRESS == 0:
                    self._tell(log.reader.done_bytes, size)
        for sender in self._senders.values():
            await sender.finish()
        self._tell(size, size)

    def _sender(self, conversation: Conversation) -> SessionSender:
        sender = self._senders.get(conversation)
        if sender is None:
            sender = self._senders[conversation] = SessionSender(self._client, lambda: conversation.info)
        return sender

    def _tell(self, done: int, size: int) -> None:
        if self._progress is not None:
            self._progress(Progress(str(self._path), done, size))

    def _report(self, error: str) -> FileReport:
        log = self._log
        return FileReport(
            file=str(self._path),
            session_id=log.main.id if log else "",
            lines=log.reader.lines if log else 0,
            rows=self._rows,
            added=sum(sender.added for sender in self._senders.values()),
            foreign=self._foreign,
            unreadable=log.reader.unreadable if log else 0,
            error=error,
            problems=log.problems.texts() if log else (),
        )
