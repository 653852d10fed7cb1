"""`transcript import`: other programs' logs, and journals that were exported."""

from __future__ import annotations

import json
import sys
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transcript_terminal.calling import call
from transcript_terminal.commands.options import json_option, server_option
from transcript_terminal.commands.progress_bar import FileBar
from transcript_terminal.outline.amounts import count
from transcript_terminal.output import Output

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from transcript import Client
    from transcript_importers import FileReport, Progress


@click.group("import")
def import_logs() -> None:
    """Bring in logs of other programs, or exported journals. The same file again adds only what is new."""


@import_logs.command("claude-code")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@json_option
@server_option
def claude_code(paths: tuple[Path, ...], as_json: bool, server: str) -> None:
    """Bring in Claude Code's logs: files, or folders with all that is in them.

    Ends with 1 if any file failed. With --json every file is one object: file, session_id, lines,
    rows, added, foreign, unreadable, and error and problems where there are any.
    """
    from transcript_importers import import_claude_code

    def reports(client: Client, progress: Callable[[Progress], None]) -> AsyncGenerator[FileReport, None]:
        return import_claude_code(client, paths, progress=progress)

    _bring_in(reports, server, as_json=as_json)


@import_logs.command("jsonl")
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(exists=True, path_type=Path))
@click.option("--session", default="", metavar="ID", help="The session to make; by default the one that was exported.")
@json_option
@server_option
def jsonl(files: tuple[Path, ...], session: str, as_json: bool, server: str) -> None:
    """Bring in what `transcript export --format jsonl` wrote: the same rows, under the same numbers.

    A file without a header is brought in as the session that it is named after. A session that has
    rows already is compared with the file first, and gets those that come after. Ends with 1 if any
    file failed. With --json every file is one object, as with `import claude-code`.
    """
    from transcript_importers import import_jsonl

    if session and len(files) > 1:
        raise click.UsageError("--session names one session: give one file with it")

    def reports(client: Client, progress: Callable[[Progress], None]) -> AsyncGenerator[FileReport, None]:
        return import_jsonl(client, files, session_id=session, progress=progress)

    _bring_in(reports, server, as_json=as_json)


def _bring_in(
    reports_of: Callable[[Client, Callable[[Progress], None]], AsyncGenerator[FileReport, None]],
    server: str,
    *,
    as_json: bool,
) -> None:
    """Import, say what became of each file, and end with 1 if any failed."""
    output = Output()
    bar = FileBar()

    async def work(client: Client) -> bool:
        failed = False
        reports = reports_of(client, bar.show)
        async with aclosing(reports):
            async for report in reports:
                failed = failed or bool(report.error)
                with bar.aside():
                    _tell(output, report, as_json=as_json)
        return failed

    try:
        failed = call(server, work)
    finally:
        bar.close()
    if failed:
        sys.exit(1)


def _tell(output: Output, report: FileReport, *, as_json: bool) -> None:
    if as_json:
        said = {key: value for key, value in asdict(report).items() if value or key not in ("error", "problems")}
        output.line(json.dumps(said))
        return
    if report.error:
        output.line(f"{report.file}: failed: {report.error}")
    else:
        amounts = [f"{count(report.added, 'row')} added"]
        if report.rows != report.added:
            amounts.append(f"{report.rows - report.added:,} were there")
        if report.foreign:
            amounts.append(f"{report.foreign:,} as foreign records" if report.foreign > 1 else "1 as a foreign record")
        if report.unreadable:
            amounts.append(f"{count(report.unreadable, 'line')} unreadable")
        output.line(f"{report.file}: {', '.join(amounts)} → {report.session_id}")
    for problem in report.problems:
        output.note(f"  {problem}")
