"""`transcript tail`: a session as it goes on."""

from __future__ import annotations

from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

import click

from transcript.v1.transcript_service_pb2 import EventBatch, WatchResponse
from transcript_terminal.calling import call
from transcript_terminal.commands.options import (
    json_option,
    server_option,
    session_argument,
    view_of,
    view_option,
    whole_option,
)
from transcript_terminal.following import Following
from transcript_terminal.output import Output
from transcript_terminal.resolving import resolve

if TYPE_CHECKING:
    from transcript import Client, TranscriptError


@click.command()
@session_argument
@view_option
@click.option("--page-size", type=click.IntRange(min=1), metavar="N", help="Messages or rows to begin with.")
@whole_option
@json_option
@server_option
def tail(session: str, view: str | None, page_size: int | None, whole: bool, as_json: bool, server: str) -> None:
    """Draw a session's newest page, then every row as it lands, until Ctrl-C.

    SESSION is an id, any unique part of one, an exact title, @last or @running.

    A broken connection is taken up again where it broke off: no row is missed, none comes twice. With
    --json every row is one line on stdout: an Event as proto JSON.
    """
    output = Output()

    is_broken = False

    def on_break(_: TranscriptError, __: float) -> None:
        nonlocal is_broken
        if not is_broken:
            output.note(f"the connection to {server} broke off; trying again")
        is_broken = True

    async def work(client: Client) -> None:
        nonlocal is_broken
        found = await resolve(client, session)
        seen = view_of(view, found)
        page = await client.read_page(found.id, view=seen, page_size=page_size or 0)
        following = Following(output, found, seen, whole=whole, as_json=as_json)
        # The bar of what is drawn stays as it is: so the watch has none, and goes on after any row.
        watching = client.watch(
            found.id,
            view=seen,
            page_size=page_size or 0,
            expand_sections=True,
            after_sequence=page.info.latest_sequence,
            journal_id=page.info.journal_id,
            on_break=on_break,
        )
        try:
            following.take(WatchResponse(page=page.info, events=EventBatch(events=page.events)))
            async with aclosing(watching):
                async for message in watching:
                    if is_broken:
                        output.note("connected again")
                    is_broken = False
                    following.take(message)
        finally:
            following.close()

    with suppress(KeyboardInterrupt):  # how a person ends it
        call(server, work)
