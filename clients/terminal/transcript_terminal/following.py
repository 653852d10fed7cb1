"""A session drawn as it goes on: what is settled stays on the screen, what is not moves below it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Group
from rich.live import Live
from rich.text import Text

from transcript.v1.transcript_service_pb2 import View
from transcript_terminal.drawing import styled
from transcript_terminal.left_out import held
from transcript_terminal.outline import Outline, Wording
from transcript_terminal.outline.blocks import Line
from transcript_terminal.outline.facts import kind_of
from transcript_terminal.outline.live_text import LiveText
from transcript_terminal.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from transcript.v1.session_pb2 import Session
    from transcript.v1.transcript_service_pb2 import PageInfo, WatchResponse
    from transcript_terminal.outline import Block
    from transcript_terminal.output import Output

LIVE_LINES = 8  # of text that is being written


class Following:
    """Takes what a watch sends and draws it.

    A tool's card is drawn when its result is there: on a terminal the call stands below until then. What
    is drawn stays, so of a page that comes again only the rows after the last one are taken.
    """

    def __init__(
        self, output: Output, session: Session, view: View.ValueType, *, whole: bool = False, as_json: bool = False
    ) -> None:
        self._output = output
        self._session = session
        self._as_json = as_json
        self._is_journal = view == View.VIEW_JOURNAL
        self._outline = Outline(journal=self._is_journal)
        self._wording = Wording(whole=whole, numbered=self._is_journal)
        self._live_text = LiveText()
        self._journal_id = ""  # of the latest page
        self._last_sequence = 0
        self._is_caught_up = False
        self._live: Live | None = None
        if output.console and not as_json:
            self._live = Live(
                console=output.console,
                transient=True,
                auto_refresh=False,
                redirect_stdout=False,
                redirect_stderr=sys.stderr.isatty(),
            )
            self._live.start()

    def take(self, message: WatchResponse) -> None:
        """Draw what the message says."""
        for session in message.sessions:
            if session.id == self._session.id:
                self._session = session
        if message.HasField("page"):
            self._begin(message.page)
        fresh = [event for event in message.events.events if event.sequence > self._last_sequence]
        if fresh:
            self._last_sequence = fresh[-1].sequence
        if self._as_json:
            for event in fresh:
                self._output.json(event)
            return
        for event in fresh:
            self._outline.add(event)
            self._live_text.landed(event.id)
            if kind_of(event) == "turn_ended":
                self._live_text.clear()
        if message.HasField("live"):
            self._live_text.add(message.live)
        if self._is_caught_up:
            self._draw(self._outline.settled(in_order=False))
        elif message.HasField("caught_up"):
            self._is_caught_up = True
            running = self._session.running
            self._draw(self._outline.settled(in_order=False) if running else self._outline.finish())
        self._refresh()

    def close(self) -> None:
        """Draw what is left, and leave the terminal as it was."""
        if self._live:
            self._live.update("", refresh=True)
            self._live.stop()
        if not self._as_json:
            self._draw(self._outline.finish(running=self._session.running))

    def _begin(self, page: PageInfo) -> None:
        is_again = page.journal_id == self._journal_id
        if not self._journal_id:
            if not self._as_json:
                self._output.draw([self._wording.heading(self._session, counted=False)])
        elif not is_again:
            self._draw(self._outline.finish())
            self._output.note("the session has another journal now; from here on it is shown")
            self._outline = Outline(journal=self._is_journal)
            self._live_text.clear()
            self._is_caught_up = False
            self._last_sequence = 0
        self._journal_id = page.journal_id
        if not self._as_json:
            self._outline.open(page, with_control=not is_again)

    def _draw(self, blocks: Iterable[Block]) -> None:
        self._output.draw(passage for block in blocks for passage in self._wording.passages(block))

    def _refresh(self) -> None:
        """What goes on, below what has happened. Nothing of it stays."""
        if not self._live:
            return
        words = Wording()
        passages = [words.reminder(block) for block in self._outline.in_progress()]
        if self._session.held_row_count:
            passages.append(words.passage(Line(text=held(self._session.held_row_count))))
        parts = list(styled.drawn(passages))
        for text in self._live_text.texts():
            lines = safe(text).split("\n")[-LIVE_LINES:]
            parts.append(Text("\n".join(lines), style="dim", overflow="fold"))
        self._live.update(Group(*parts), refresh=True)
