"""`transcript context` and `transcript diff-context`: what the model is, or was, sent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
from google.protobuf.json_format import MessageToDict

from transcript import Context
from transcript.v1.context_service_pb2 import ContextScope
from transcript.v1.transcript_service_pb2 import View
from transcript_terminal import surface_wording
from transcript_terminal.calling import call
from transcript_terminal.commands.options import json_option, server_option, session_argument
from transcript_terminal.comparing import Change, compare
from transcript_terminal.outline import Wording
from transcript_terminal.outline.facts import is_replacement, kind_of
from transcript_terminal.outline.reading import read
from transcript_terminal.output import Output
from transcript_terminal.resolving import check_journal, check_row, resolve
from transcript_terminal.selecting import Reader
from transcript_terminal.surface_lines import Lines, rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transcript import Client
    from transcript.v1.session_pb2 import Session
    from transcript_terminal.comparing import Run
    from transcript_terminal.outline import Block

POSITIVE = click.IntRange(min=1)
_NOTHING = Context([], 0, "")


@click.command()
@session_argument
@click.option("--at", "at", type=POSITIVE, metavar="N", help="As it was once row N had landed; by default now.")
@click.option("--conversation", is_flag=True, help="Only what a fresh conversation is told of this one.")
@click.option("--exclude-running-prompt", is_flag=True, help="Without the prompt of a turn that has not ended.")
@click.option("--whole", is_flag=True, help="Every row with all of its text, not its first words.")
@json_option
@server_option
def context(
    session: str,
    at: int | None,
    conversation: bool,
    exclude_running_prompt: bool,
    whole: bool,
    as_json: bool,
    server: str,
) -> None:
    """List what the model is sent next, or was sent as of row N.

    SESSION is an id, any unique part of one, an exact title, @last or @running.

    Rows stand in the order in which the model sees them, each with how much text it is; a row that stands
    in place of others says of which. Tokens are a guess: a quarter of the bytes. With --json every row is
    one line, whole: an Event as proto JSON.
    """
    output = Output()

    async def work(client: Client) -> None:
        found = await resolve(client, session)
        check_row(found, at or 0)
        scope = ContextScope.CONTEXT_SCOPE_CONVERSATION if conversation else ContextScope.CONTEXT_SCOPE_SURFACE
        sent = await _read(client, found, at or 0, scope=scope, exclude_running_prompt=exclude_running_prompt)
        if as_json:
            for event in sent.events:
                output.json(event)
            return
        kept = ["the conversation alone"] * conversation + ["without the running prompt"] * exclude_running_prompt
        tip = max(found.latest_sequence, sent.latest_sequence)
        output.draw([surface_wording.heading(found, f"context as of row {sent.latest_sequence} of {tip}", *kept)])
        rows = rows_of(sent.events)
        lines, wording = Lines(rows, _width(output)), Wording(whole=True, numbered=True)
        for row in rows:
            output.draw(surface_wording.whole(wording, row) if whole else [lines.row(row)])
        output.draw([surface_wording.summary(rows)])

    call(server, work)


@click.command("diff-context")
@session_argument
@click.argument("first", metavar="N", type=click.IntRange(min=0))
@click.argument("second", metavar="[M]", type=POSITIVE, required=False)
@click.option("--whole", is_flag=True, help="A line for every row: also for each that left, and each that stays.")
@json_option
@server_option
def diff_context(session: str, first: int, second: int | None, whole: bool, as_json: bool, server: str) -> None:
    """Show what left the model's context and what entered it, from row N to row M.

    SESSION is an id, any unique part of one, an exact title, @last or @running. N may be 0, before there
    was anything; M is by default the latest row.

    Rows stand in the order in which the model sees them: behind - what left, in one line where it stood
    together, behind + what entered. What took rows off in between, a compaction, a reset or a rewind, is
    named above them; to find it, the messages and their like from row N to row M are read.

    With --json every row that left or entered is one line: {"change": "left" or "entered", "event": an Event
    as proto JSON}.
    """
    if second is not None and first > second:
        raise click.UsageError(f"row {first} comes after row {second}: give the earlier one first")
    output = Output()

    async def work(client: Client) -> None:
        found = await resolve(client, session)
        check_row(found, max(first, second or 0))
        after = await _read(client, found, second or 0)
        before = await _read(client, found, first) if first else _NOTHING
        runs = compare(before.events, after.events)
        if as_json:
            _write(output, runs)
            return
        rows = {row.sequence: row for row in [*rows_of(after.events), *rows_of(before.events)]}
        has_left = any(run.change is Change.LEFT for run in runs)
        taken_off = await _taken_off(client, found, first, after) if has_left else []
        about = f"the model's context from row {first} to row {after.latest_sequence}"
        output.draw([surface_wording.heading(found, about, taken_off=taken_off)])
        lines = Lines(rows.values(), _width(output))
        output.draw(surface_wording.differences(lines, runs, rows, every=whole))
        output.draw([surface_wording.balance(runs, rows)])

    call(server, work)


async def _read(
    client: Client,
    session: Session,
    at: int,
    *,
    scope: ContextScope.ValueType = ContextScope.CONTEXT_SCOPE_SURFACE,
    exclude_running_prompt: bool = False,
) -> Context:
    """The context as of a row, 0 for now, of the journal that the session had when it was found."""
    sent = await client.read_context(
        session.id, scope=scope, exclude_running_prompt=exclude_running_prompt, as_of_sequence=at
    )
    check_journal(session, sent.journal_id)
    return sent


async def _taken_off(client: Client, session: Session, first: int, after: Context) -> list[Block]:
    """Between the two moments: the compactions, resets and rewinds, but for what the model is still sent of them."""
    standing = {event.sequence for event in after.events}
    reader = Reader(client=client, session=session, view=View.VIEW_COMPACT, page_size=1000)
    found = []
    async for part in reader.all(after=first, as_of=after.latest_sequence):
        for event in part.events:
            takes_off = is_replacement(event) or kind_of(event) in ("context_reset", "rewind")
            block = read(event) if takes_off and event.sequence not in standing else None
            if block:
                found.append(block)
    return found


def _write(output: Output, runs: Sequence[Run]) -> None:
    for run in runs:
        for event in run.rows if run.change is not Change.STAYS else ():
            output.line(json.dumps({"change": run.change.value, "event": MessageToDict(event)}))


def _width(output: Output) -> int | None:
    return output.console.width if output.console else None
