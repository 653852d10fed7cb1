"""Other programs' logs, and exported journals → sessions of a transcript server.

Importing a log again adds only what is new: a row's id follows from the log, and what a row says never depends on what
comes after it in the file. Reading is pure; only sending speaks to a server.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from transcript_importers.report import FileReport, Progress

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from pathlib import Path

    from transcript import Client

__all__ = ["FileReport", "Progress", "import_claude_code", "import_jsonl"]


async def import_claude_code(
    client: Client, paths: Sequence[Path], *, progress: Callable[[Progress], None] | None = None
) -> AsyncGenerator[FileReport, None]:
    """Imports the logs that Claude Code keeps of its sessions.

    Args:
        client: The server to import to.
        paths: Logs, or folders that are searched for them.
        progress: Told now and then how far a file has been read.

    Yields:
        What became of each file. One that is no log, or that the server refuses, does not keep the others back.

    Raises:
        TranscriptError: The server is unreachable, full, or does not let the caller in: no file would fare better.
    """
    # Loaded on use: who only asks for help does not wait for gRPC.
    from transcript_importers.claude_code.importing import import_files

    async with aclosing(import_files(client, paths, progress=progress)) as reports:
        async for report in reports:
            yield report


async def import_jsonl(
    client: Client,
    paths: Sequence[Path],
    *,
    session_id: str = "",
    progress: Callable[[Progress], None] | None = None,
) -> AsyncGenerator[FileReport, None]:
    """Imports journals that `transcript export --format jsonl` wrote: the same rows at the same sequences.

    What differs is when they were recorded. A session that has rows already is compared with the file, and only gets
    those that come after.

    Args:
        client: The server to import to.
        paths: The files.
        session_id: The session to import to; if empty, the one that a file's header names, else the file's name.
        progress: Told now and then how far a file has been read.

    Yields:
        What became of each file. One that is broken, or that the server refuses, does not keep the others back.

    Raises:
        TranscriptError: The server is unreachable, full, or does not let the caller in: no file would fare better.
    """
    # Loaded on use: who only asks for help does not wait for gRPC.
    from transcript_importers.jsonl.importing import import_files

    async with aclosing(import_files(client, paths, session_id=session_id, progress=progress)) as reports:
        async for report in reports:
            yield report
