"""SESSION completed by the shell: the ids of the server's sessions, each with its title."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from transcript import TranscriptError, connect

if TYPE_CHECKING:
    from transcript.v1.session_pb2 import Session

OFFERED = 200  # of the latest prompted
SECONDS = 2.0  # that a person waits for Tab
SPECIAL = (CompletionItem("@last", help="the latest prompted"), CompletionItem("@running", help="the one that runs"))


def complete_session(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The sessions whose id begins with what was typed; where no server answers, none."""
    if incomplete.startswith("@"):
        return [item for item in SPECIAL if item.value.startswith(incomplete)]
    option = next(one for one in context.command.params if one.name == "server")
    server = context.params.get("server") or os.environ.get("TRANSCRIPT_SERVER") or option.get_default(context)
    try:
        sessions = asyncio.run(_latest(str(server)))
    except TranscriptError:
        return []
    return [CompletionItem(one.id, help=one.title) for one in sessions if one.id.startswith(incomplete)]


async def _latest(server: str) -> list[Session]:
    found: list[Session] = []
    async with connect(server, timeout=SECONDS) as client, aclosing(client.sessions(page_size=OFFERED)) as sessions:
        async for session in sessions:
            found.append(session)
            if len(found) == OFFERED:
                break
    return found
