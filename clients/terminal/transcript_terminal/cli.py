"""The command and its parts."""

from __future__ import annotations

import click

from transcript_terminal.commands.completion import completion
from transcript_terminal.commands.context import context, diff_context
from transcript_terminal.commands.demo import demo
from transcript_terminal.commands.export import export
from transcript_terminal.commands.import_logs import import_logs
from transcript_terminal.commands.serve import serve
from transcript_terminal.commands.sessions import sections, sessions
from transcript_terminal.commands.show import show
from transcript_terminal.commands.tail import tail
from transcript_terminal.commands.writing import delete, fork, mark, note


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="transcript")
def cli() -> None:
    """Transcripts of what people and AI agents said and did.

    Try `transcript demo`. To complete commands with Tab, see `transcript completion --help`. Exit status:
    0 fine, 1 it failed, 2 the command line names nothing, or too much.
    """


for command in (
    serve,
    demo,
    import_logs,
    export,
    sessions,
    show,
    tail,
    sections,
    context,
    diff_context,
    mark,
    note,
    fork,
    delete,
    completion,
):
    cli.add_command(command)
