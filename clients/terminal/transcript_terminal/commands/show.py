"""`transcript show`: a transcript as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from transcript_terminal.calling import call
from transcript_terminal.commands.options import (
    json_option,
    server_option,
    session_argument,
    view_of,
    view_option,
    whole_option,
)
from transcript_terminal.output import Output
from transcript_terminal.resolving import resolve
from transcript_terminal.selecting import Reader
from transcript_terminal.showing import Showing

if TYPE_CHECKING:
    from transcript import Client

POSITIVE = click.IntRange(min=1)


@click.command()
@session_argument
@view_option
@click.option("--before", type=POSITIVE, metavar="N", help="The newest page of the rows before row N.")
@click.option("--around", type=POSITIVE, metavar="N", help="A page with row N in the middle.")
@click.option("--turn", type=click.IntRange(min=0), metavar="T", help="The rows of turn T; by default in full.")
@click.option("--all", "show_all", is_flag=True, help="Every row of the view, earlier sections included.")
@click.option("--expand", is_flag=True, help="Let the page reach past the section that is being worked on.")
@click.option("--page-size", type=POSITIVE, metavar="N", help="Messages (compact) or rows (full, journal) on a page.")
@whole_option
@json_option
@server_option
def show(
    session: str,
    view: str | None,
    before: int | None,
    around: int | None,
    turn: int | None,
    show_all: bool,
    expand: bool,
    page_size: int | None,
    whole: bool,
    as_json: bool,
    server: str,
) -> None:
    """Draw a session's newest page, or the part of it that is asked for.

    SESSION is an id, any unique part of one, an exact title, @last or @running.

    What is left out is counted on stderr, with the flag that shows it. With --json every row is one
    line on stdout: an Event as proto JSON.
    """
    chosen = [name for name, value in (("--before", before), ("--around", around), ("--all", show_all)) if value]
    chosen += ["--turn"] if turn is not None else []
    if len(chosen) > 1:
        raise click.UsageError(f"{chosen[0]} and {chosen[1]} ask for different rows: give one of them")

    async def work(client: Client) -> None:
        found = await resolve(client, session)
        seen = view_of(view or ("full" if turn is not None else None), found)
        reader = Reader(client=client, session=found, view=seen, page_size=page_size or 0, expand=expand)
        showing = Showing(client, output, found, seen, whole=whole, as_json=as_json)
        if turn is not None:
            await showing.show(reader.turn(turn), with_surroundings=False)
        elif around:
            await showing.show(reader.around(around), look_for=around)
        elif show_all:
            await showing.show(reader.all())
        else:
            await showing.show(reader.newest(before or 0))

    output = Output()
    call(server, work)
