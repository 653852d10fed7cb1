"""`transcript export`: a session as a file, to read, to pass on or to bring in elsewhere."""

from __future__ import annotations

import sys
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from transcript_terminal.calling import call
from transcript_terminal.commands.options import server_option, session_argument
from transcript_terminal.complaints import Complaint
from transcript_terminal.exporting.json_lines import json_lines
from transcript_terminal.exporting.markdown_page import MarkdownPage
from transcript_terminal.exporting.overview import overview
from transcript_terminal.exporting.progress import RowBar
from transcript_terminal.exporting.retelling import Retelling
from transcript_terminal.exporting.target import STDOUT, opened
from transcript_terminal.left_out import held
from transcript_terminal.output import Output
from transcript_terminal.resolving import check_row, resolve

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from transcript import Client
    from transcript.v1.session_pb2 import Session
    from transcript_terminal.exporting.overview import Overview
    from transcript_terminal.exporting.retelling import Item

_ENDINGS = {".md": "md", ".markdown": "md", ".html": "html", ".htm": "html", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_HTML_NEEDS = frozenset({"jinja2", "markupsafe"})


class Page(Protocol):
    """A document for people, written part by part."""

    def begin(self) -> Iterator[str]:
        """What stands above the rows."""

    def item(self, item: Item) -> Iterator[str]:
        """A block of the transcript."""

    def end(self) -> Iterator[str]:
        """What stands below the rows."""


@click.command()
@session_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(["md", "html", "jsonl"]),
    help="md: Markdown; html: one web page that needs nothing else; jsonl: every row of the journal, to be brought in "
    "again by `transcript import jsonl`. By default what FILE ends with, else md.",
)
@click.option("--at", type=click.IntRange(min=1), metavar="N", help="As it was at row N; by default as it is now.")
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="Write to FILE, which is there once it is whole; by default, and for -, to stdout.",
)
@server_option
def export(session: str, form: str | None, at: int | None, output: Path | None, server: str) -> None:
    """Write a session to a file: the transcript as a person reads it, or the journal for a program.

    SESSION is an id, any unique part of one, an exact title, @last or @running.
    """
    ending = output.suffix.lower() if output else ""
    if not form and ending and ending not in _ENDINGS:
        raise click.UsageError(f"{ending} is no format that is known: name one with --format")
    chosen = form or _ENDINGS.get(ending, "md")
    page = None if chosen == "jsonl" else MarkdownPage if chosen == "md" else _web_page()
    said = Output()

    async def work(client: Client) -> None:
        found = await resolve(client, session)
        last = at or found.latest_sequence
        check_row(found, last)
        with (
            RowBar(last, is_wanted=output not in (None, STDOUT) or not sys.stdout.isatty()) as bar,
            opened(output) as file,
        ):
            parts = _document(client, found, last, page, bar.show) if page else _journal(client, found, last, bar.show)
            async for part in parts:
                file.write(part)
        if found.held_row_count and last == found.latest_sequence:
            said.note(f"{held(found.held_row_count)}: not in the export")

    call(server, work)


async def _document(
    client: Client, session: Session, at: int, page: Callable[[Overview], Page], progress: Callable[[int], None]
) -> AsyncIterator[str]:
    document = page(await overview(client, session, at))
    for part in document.begin():
        yield part
    async for item in Retelling(client, session, at, progress).items():
        for part in document.item(item):
            yield part
    for part in document.end():
        yield part


async def _journal(client: Client, session: Session, at: int, progress: Callable[[int], None]) -> AsyncIterator[str]:
    row = 0
    async with aclosing(json_lines(client, session, at)) as lines:
        async for line in lines:
            yield line
            progress(row)
            row += 1


def _web_page() -> Callable[[Overview], Page]:
    """Loaded when it is wanted: templates take a while."""
    try:
        from transcript_terminal.exporting.web_page import WebPage
    except ModuleNotFoundError as missing:
        if missing.name not in _HTML_NEEDS:
            raise
        raise Complaint(
            f"a web page needs {missing.name}, which is not installed",
            do="install it: pip install 'transcript[terminal]'",
        ) from missing
    return WebPage
