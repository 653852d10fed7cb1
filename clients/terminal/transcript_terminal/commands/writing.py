"""`transcript mark`, `note`, `fork` and `delete`: what a person may do to a session."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from transcript.v1.session_pb2 import Session
from transcript_terminal.calling import call
from transcript_terminal.commands.options import json_option, server_option, session_argument, source_option
from transcript_terminal.outline.amounts import count
from transcript_terminal.output import Output
from transcript_terminal.resolving import resolve
from transcript_terminal.safe_text import safe

if TYPE_CHECKING:
    from transcript import Client
    from transcript.v1.journal_service_pb2 import AddNoteResponse, AddSectionMarkerResponse


@click.command()
@session_argument
@click.argument("label", default="")
@click.option("--no-collapse", is_flag=True, help="Draw the rule only: readers go on seeing what lies before it.")
@source_option
@json_option
@server_option
def mark(session: str, label: str, no_collapse: bool, source: str, as_json: bool, server: str) -> None:
    """Begin a section, with LABEL as its heading.

    Once the next turn begins, readers are shown only what follows the marker, until they ask. SESSION
    is an id, any unique part of one, an exact title, @last or @running. With --json the answer is one
    line: an AddSectionMarkerResponse as proto JSON.
    """

    async def work(client: Client) -> AddSectionMarkerResponse:
        found = await resolve(client, session)
        return await client.add_section_marker(
            found.id, label, collapse_earlier=False if no_collapse else None, source=source
        )

    _say_where(call(server, work), "the section begins", as_json=as_json)


@click.command()
@session_argument
@click.argument("text")
@source_option
@json_option
@server_option
def note(session: str, text: str, source: str, as_json: bool, server: str) -> None:
    """Add a note: for readers, and for the model with the next prompt. TEXT is Markdown; - reads it from stdin.

    SESSION is an id, any unique part of one, an exact title, @last or @running. With --json the
    answer is one line: an AddNoteResponse as proto JSON.
    """
    said = sys.stdin.read() if text == "-" else text

    async def work(client: Client) -> AddNoteResponse:
        found = await resolve(client, session)
        return await client.add_note(found.id, said, source=source)

    _say_where(call(server, work), "the note stands", as_json=as_json)


@click.command()
@session_argument
@click.option("--through", type=click.IntRange(min=1), metavar="N", help="Copy the rows up to row N; by default all.")
@click.option("--id", "new_id", default="", help="The copy's id; by default a new one.")
@click.option("--title", default="", help="The copy's title; by default the same.")
@json_option
@server_option
def fork(session: str, through: int | None, new_id: str, title: str, as_json: bool, server: str) -> None:
    """Make a session that begins with another's rows, and print its id.

    SESSION is an id, any unique part of one, an exact title, @last or @running. With --json the copy
    is one line: a Session as proto JSON.
    """
    output = Output()

    async def work(client: Client) -> Session:
        found = await resolve(client, session)
        return await client.fork_session(found.id, through_sequence=through or 0, id=new_id, title=title)

    copy = call(server, work)
    if as_json:
        output.json(copy)
    else:
        output.line(copy.id)


@click.command()
@session_argument
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@server_option
def delete(session: str, yes: bool, as_json: bool, server: str) -> None:
    """Remove a session and its rows, for good. Asks first; without a terminal to ask on, --yes is needed.

    SESSION is an id, any unique part of one, an exact title, @last or @running. With --json the
    session as it was is one line: a Session as proto JSON.
    """
    output = Output()
    if not yes and not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask on: give --yes to remove the session for good")

    async def find(client: Client) -> Session:
        return await resolve(client, session)

    found = call(server, find)
    if not yes:
        size = f"{count(found.latest_sequence, 'row')}, {count(found.message_count, 'message')}"
        named = f"{found.id} ({found.title})" if found.title else found.id
        click.confirm(safe(f"Remove {named}, {size}, for good?"), abort=True, err=True)

    async def remove(client: Client) -> None:
        await client.delete_session(found.id)

    call(server, remove)
    if as_json:
        found.deleted = True
        output.json(found)
    else:
        output.line(f"removed {found.id}")


def _say_where(answer: AddSectionMarkerResponse | AddNoteResponse, what: str, *, as_json: bool) -> None:
    output = Output()
    if as_json:
        output.json(answer)
    elif answer.held:
        output.line("a turn is running: held until it ends")
    else:
        output.line(f"{what} at row {answer.sequence}")
