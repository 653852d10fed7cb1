"""The demo: fill a server with the samples, show one, and say what to try next."""

from __future__ import annotations

from contextlib import aclosing
from importlib.resources import as_file
from typing import TYPE_CHECKING

from transcript.v1.transcript_service_pb2 import View
from transcript_terminal.demo.samples import LOG_ID, WALK_ID, WALK_TITLE, log, walk
from transcript_terminal.outline.amounts import count
from transcript_terminal.selecting import Reader
from transcript_terminal.showing import Showing

if TYPE_CHECKING:
    from transcript import Client
    from transcript_terminal.output import Output


async def fill(client: Client) -> list[str]:
    """Put the samples in; a line about each."""
    from transcript_importers import import_claude_code

    rows = walk()
    await client.create_session(WALK_ID, WALK_TITLE, {"project": "album"})
    answer = await client.append(WALK_ID, rows, as_recorded=True)
    told = [f"{WALK_ID}: {count(answer.latest_sequence, 'row')} appended"]
    with as_file(log()) as path:
        async with aclosing(import_claude_code(client, [path])) as reports:
            told += [f"{report.session_id}: {count(report.added, 'row')} imported" async for report in reports]
    return told


async def show(client: Client, output: Output) -> None:
    """Draw the walk as anybody who opens it sees it."""
    session = await client.get_session(WALK_ID)
    reader = Reader(client=client, session=session, view=View.VIEW_COMPACT)
    await Showing(client, output, session, View.VIEW_COMPACT).show(reader.newest())


def next_steps(address: str) -> str:
    """What to try, each line ready to be pasted."""
    service = "transcript.v1.TranscriptService"
    return "\n".join(
        [
            "Try, in another terminal:",
            "",
            f"  export TRANSCRIPT_SERVER={address}",
            "  transcript sessions",
            f"  transcript sections {WALK_ID}",
            f"  transcript show {WALK_ID} --expand",
            f"  transcript show {WALK_ID} --view full --turn 3",
            f"  transcript show {LOG_ID.partition('-')[0]} --view full",
            f"  transcript tail {WALK_ID}           # and, in a third one:",
            f"  transcript note {WALK_ID} 'Ship it after lunch.'",
            "  transcript import claude-code ~/.claude/projects",
            "",
            f"  grpcurl -plaintext {address} list",
            f"  grpcurl -plaintext {address} describe transcript.v1.Event",
            f'  grpcurl -plaintext -d \'{{"session_id":"{WALK_ID}"}}\' {address} {service}/ReadPage',
            f'  grpcurl -plaintext -d \'{{"session_id":"{WALK_ID}"}}\' {address} {service}/Watch',
        ]
    )
