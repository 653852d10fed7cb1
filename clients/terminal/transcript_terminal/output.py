"""The two outputs: stdout has what was asked for, stderr what is said about it."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import click
from google.protobuf.json_format import MessageToJson
from rich.console import Console

from transcript_terminal.drawing import plain, styled
from transcript_terminal.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.protobuf.message import Message

    from transcript_terminal.outline import Passage


class Output:
    """Draws on a terminal, in colour unless NO_COLOR is set; in a pipe, lines without an escape."""

    def __init__(self) -> None:
        # A locale that lacks a character gets a question mark, not a traceback.
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")
        self.is_terminal = sys.stdout.isatty()
        self.console = _console(sys.stdout) if self.is_terminal else None
        self._was_tight: bool | None = None

    def draw(self, passages: Iterable[Passage]) -> None:
        """Draw the passages under what was drawn before."""
        for passage in passages:
            if self.console:
                for renderable in styled.drawn([passage], self._was_tight):
                    self.console.print(renderable)
            else:
                if plain.is_apart(passage, self._was_tight):
                    click.echo()
                for line in plain.passage_lines(passage):
                    click.echo(line)
            self._was_tight = passage.is_tight

    def json(self, message: Message) -> None:
        """Write the message as proto JSON, on one line, in ASCII."""
        click.echo(MessageToJson(message, indent=None))

    def line(self, text: str) -> None:
        """Write a line of our own, in which somebody else's words may stand."""
        click.echo(safe(text))

    def note(self, text: str) -> None:
        """Say something about the output, on stderr."""
        click.secho(safe(text), err=True, dim=True)


def progress_console() -> Console:
    """Where a progress bar is drawn: stderr."""
    return _console(sys.stderr)


def _console(stream: object) -> Console:
    is_terminal = isinstance(stream, io.TextIOBase) and stream.isatty()
    return Console(
        stderr=stream is sys.stderr,
        theme=styled.THEME,
        force_terminal=is_terminal,  # whatever FORCE_COLOR says: a pipe gets no escapes
        highlight=False,
        markup=False,
        emoji=False,
    )
