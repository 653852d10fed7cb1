"""`transcript import`: other programs' logs."""

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
    from transcript import Client
    from transcript_importers import FileReport


@click.group("import")
def import_logs() -> None:
    """Bring in the logs that other programs wrote. Bringing one in again adds only what is new."""


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

    output = Output()
    bar = FileBar()

    async def work(client: Client) -> bool:
        failed = False
        reports = import_claude_code(client, paths, progress=bar.show)
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
