"""Options and arguments that several commands have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from transcript.v1.session_pb2 import SessionKind
from transcript.v1.transcript_service_pb2 import View
from transcript_terminal.completing import complete_session

if TYPE_CHECKING:
    from transcript.v1.session_pb2 import Session

DEFAULT_SERVER = "127.0.0.1:50051"

server_option = click.option(
    "--server",
    envvar="TRANSCRIPT_SERVER",
    default=DEFAULT_SERVER,
    show_default=True,
    show_envvar=True,
    metavar="HOST:PORT",
    help="The server to talk to.",
)
session_argument = click.argument("session", metavar="SESSION", shell_complete=complete_session)
json_option = click.option("--json", "as_json", is_flag=True, help="Write proto JSON, one object a line.")
source_option = click.option("--source", default="", help="Who says so, for display.")

VIEWS = {"compact": View.VIEW_COMPACT, "full": View.VIEW_FULL, "journal": View.VIEW_JOURNAL}
view_option = click.option(
    "--view",
    type=click.Choice(list(VIEWS)),
    help="compact: the latest turn whole, of older ones the messages; full: every row of the transcript; "
    "journal: every row there is. By default compact for a session with a person, else full.",
)
whole_option = click.option("--whole", is_flag=True, help="Shorten nothing: reasoning, tool calls and their output.")


def view_of(name: str | None, session: Session) -> View.ValueType:
    """The view that was asked for, else the one that the session's kind is opened in."""
    if name:
        return VIEWS[name]
    with_a_person = session.kind in (SessionKind.SESSION_KIND_UNSPECIFIED, SessionKind.SESSION_KIND_INTERACTIVE)
    return View.VIEW_COMPACT if with_a_person else View.VIEW_FULL
