"""Rows as a server serves them, and what is drawn of them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from textwrap import dedent

from transcript.v1.event_pb2 import (
    AssistantMessage,
    Event,
    HumanRequest,
    ToolCall,
    ToolResult,
    UserMessage,
)
from transcript.v1.transcript_service_pb2 import PageInfo
from transcript_terminal.drawing import plain
from transcript_terminal.outline import Block, Outline, Passage, Wording

BEGAN = datetime(2026, 11, 24, 9, 0, tzinfo=UTC)


class Journal:
    """Rows with sequences, turns and times: a minute between two."""

    def __init__(self) -> None:
        self.rows: list[Event] = []
        self.turn = 0

    def add(self, **payload: object) -> Event:
        """Add a row; a user message begins a turn unless it steers."""
        event = Event(**payload)
        kind = event.WhichOneof("payload")
        if kind == "user_message" and event.user_message.origin != UserMessage.ORIGIN_STEERING:
            self.turn += 1
        event.sequence = len(self.rows) + 1
        event.id = f"row-{event.sequence}"
        event.turn = self.turn
        event.time.FromDatetime(BEGAN + timedelta(minutes=event.sequence))
        self.rows.append(event)
        return event

    def user(self, text: str, **more: object) -> Event:
        return self.add(user_message=UserMessage(text=text, **more))

    def agent(self, text: str, **more: object) -> Event:
        return self.add(assistant_message=AssistantMessage(text=text, **more))

    def call(self, call_id: str, name: str, arguments_json: str = "") -> Event:
        return self.add(tool_call=ToolCall(call_id=call_id, name=name, arguments_json=arguments_json))

    def result(self, call_id: str, text: str = "", **more: object) -> Event:
        return self.add(tool_result=ToolResult(call_id=call_id, text=text, **more))

    def ask(self, request_id: str, prompt: str, *options: str) -> Event:
        return self.add(human_request=HumanRequest(request_id=request_id, prompt=prompt, options=options))


def page(rows: list[Event], **more: object) -> PageInfo:
    """What a page with these rows is."""
    ends = {"oldest_sequence": rows[0].sequence, "newest_sequence": rows[-1].sequence} if rows else {}
    return PageInfo(**{"latest_sequence": rows[-1].sequence if rows else 0, **ends, **more})


def blocks(rows: Iterable[Event], info: PageInfo | None = None, *, journal: bool = False) -> list[Block]:
    """The blocks of the rows as `show` draws them."""
    rows = list(rows)
    outline = Outline(journal=journal)
    outline.open(info or page(rows))
    for row in rows:
        outline.add(row)
    return outline.settled() + outline.finish()


def passages(found: Iterable[Block], **wording: object) -> list[Passage]:
    """The blocks in words, for a reader in UTC."""
    words = Wording(zone=UTC, **wording)
    return [passage for block in found for passage in words.passages(block)]


def drawn(rows: Iterable[Event], info: PageInfo | None = None, *, journal: bool = False, **wording: object) -> str:
    """What a pipe gets, without the day that stands above it all."""
    found = passages(blocks(rows, info, journal=journal), numbered=journal, **wording)
    days = [one for one in found if one.head and one.head[0].text == "Tue 24 Nov 2026"]
    return "\n".join(plain.lines(one for one in found if one not in days))


def expected(text: str) -> str:
    """The lines of an indented text."""
    return dedent(text).strip("\n")
