"""`transcript sessions` and `transcript sections`: what there is to read."""

from __future__ import annotations

import shutil
from contextlib import aclosing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from transcript_terminal.calling import call
from transcript_terminal.commands.options import json_option, server_option, session_argument
from transcript_terminal.drawing.columns import aligned
from transcript_terminal.outline.amounts import count
from transcript_terminal.output import Output
from transcript_terminal.resolving import ALL_KINDS, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transcript import Client
    from transcript.v1.session_pb2 import Session
    from transcript.v1.transcript_service_pb2 import Section


def _labels(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    labels = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals:
            raise click.BadParameter(f"{one!r} is not KEY=VALUE")
        labels[key] = value
    return labels


@click.command()
@click.option("--title", default="", metavar="TEXT", help="Only those whose title contains this.")
@click.option("--label", "labels", multiple=True, callback=_labels, metavar="KEY=VALUE", help="Only those with it.")
@click.option("--parent", default="", metavar="ID", help="Only those that this session's agent runs.")
@click.option("--all-kinds", is_flag=True, help="Background agents' sessions too.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(min=0), help="How many at most; 0: all.")
@json_option
@server_option
def sessions(
    title: str, labels: dict[str, str], parent: str, all_kinds: bool, limit: int, as_json: bool, server: str
) -> None:
    """List the sessions, the latest prompted first.

    With --json every session is one line: a Session as proto JSON.
    """
    output = Output()

    async def work(client: Client) -> list[Session]:
        found: list[Session] = []
        listed = client.sessions(
            title_contains=title,
            kinds=ALL_KINDS if all_kinds else (),
            parent_session_id=parent,
            labels=labels,
            page_size=min(limit + 1, 1000) if limit else 1000,
        )
        async with aclosing(listed):
            async for session in listed:
                found.append(session)
                if limit and len(found) > limit:
                    break
        return found

    found = call(server, work)
    shown = found[:limit] if limit else found
    if as_json:
        for session in shown:
            output.json(session)
    else:
        _write(output, [_session_cells(session) for session in shown])
    if not found:
        output.note("no sessions; import some: transcript import claude-code PATH")
    if len(found) > len(shown):
        output.note("there are more; --limit 0 shows them")


@click.command()
@session_argument
@json_option
@server_option
def sections(session: str, as_json: bool, server: str) -> None:
    """List a session's sections: its first row, messages, and label.

    SESSION is an id, any unique part of one, an exact title, @last or @running. With --json every
    section is one line: a Section as proto JSON.
    """
    output = Output()

    async def work(client: Client) -> list[Section]:
        found = await resolve(client, session)
        return [section async for section in client.sections(found.id)]

    found = call(server, work)
    if as_json:
        for section in found:
            output.json(section)
    else:
        _write(output, [_section_cells(section) for section in found])
    if not found:
        output.note("no sections; mark one: transcript mark SESSION LABEL")


def _write(output: Output, rows: Sequence[Sequence[str]]) -> None:
    width = shutil.get_terminal_size().columns if output.is_terminal else None
    for line in aligned(rows, width) if rows else ():
        output.line(line)


def _session_cells(session: Session) -> tuple[str, ...]:
    stamp = session.last_prompt_at if session.HasField("last_prompt_at") else session.created_at
    state = ["running"] if session.running else []
    if session.open_request_count:
        state.append(f"{session.open_request_count} waiting")
    return (
        session.id,
        moment(stamp.ToDatetime(UTC)),
        count(session.message_count, "message"),
        ", ".join(state),
        session.title,
    )


def _section_cells(section: Section) -> tuple[str, ...]:
    by = f"(by {section.marker.source})" if section.marker.source else ""
    label = section.marker.label or ("unnamed" if section.HasField("marker") else "before the first marker")
    return f"#{section.first_sequence}", count(section.message_count, "message"), f"{label}  {by}"


def moment(when: datetime) -> str:
    """When, where the reader is: the time if it is today, else the date."""
    local = when.astimezone()
    return f"{local:%H:%M}" if local.date() == datetime.now().astimezone().date() else f"{local:%Y-%m-%d}"
