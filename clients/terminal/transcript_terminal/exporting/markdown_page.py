"""A session as one Markdown document: sections and prompts are its headings, what was said stands in quotes."""

from __future__ import annotations

from functools import singledispatchmethod
from typing import TYPE_CHECKING

from transcript_terminal.exporting.clock import Clock
from transcript_terminal.exporting.quoting import fenced, heading, inline, quoted
from transcript_terminal.outline import tool_line
from transcript_terminal.outline.amounts import size
from transcript_terminal.outline.blocks import (
    Aside,
    Block,
    Carried,
    Failure,
    ForeignRun,
    Line,
    Message,
    Request,
    Response,
    Rule,
    Speaker,
    ToolCard,
)
from transcript_terminal.outline.headlines import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from transcript_terminal.exporting.overview import Overview
    from transcript_terminal.exporting.retelling import Item

_PROMPTS = (Speaker.USER, Speaker.NUDGE, Speaker.AUTOMATION)


class MarkdownPage:
    """Writes the document part by part."""

    def __init__(self, overview: Overview) -> None:
        self._overview = overview
        self._clock = Clock()

    def begin(self) -> Iterator[str]:
        """What stands above the rows."""
        about = self._overview
        yield f"# {heading(about.title)}\n\n"
        yield f"{' · '.join(map(inline, about.facts))}\n\n"
        if about.has_opening:
            yield "## Opening\n\n"

    def item(self, item: Item) -> Iterator[str]:
        """A block, and before it the day, if a new one has begun."""
        day = self._clock.new_day(item.block)
        if day:
            yield f"*{day}*\n\n"
        for part in self._parts(item.block):
            yield f"{part}\n\n"
        if item.summary:
            yield f"{self._head(item.summary)}\n\n{quoted(item.summary.text)}\n\n"

    def end(self) -> Iterator[str]:
        """What stands below them: nothing."""
        return iter(())

    def _head(self, block: Block, *, name: str = "", more: str = "") -> str:
        name = name or (block.heading.capitalize() if isinstance(block, Aside) else "")
        return " · ".join(one for one in (f"**{inline(name)}**", *self._place(block), more) if one)

    def _place(self, block: Block) -> list[str]:
        return [one for one in (self._clock.time(block), f"#{block.sequence}") if one]

    @singledispatchmethod
    def _parts(self, block: Block) -> Iterable[str]:
        raise NotImplementedError(type(block).__name__)

    @_parts.register(Message)
    def _message(self, block: Message) -> Iterable[str]:
        name = f"{block.speaker.value} {block.by}" if block.by else block.speaker.value
        if block.speaker in _PROMPTS:
            yield f"### {' · '.join([heading(name), *self._place(block)])}"
        else:
            yield self._head(block, name=name)
        if block.text.strip():
            yield quoted(block.text)
        elif not block.carried:
            yield "*(empty)*"
        yield from map(_carried, block.carried)

    @_parts.register(Aside)
    def _aside(self, block: Aside) -> Iterable[str]:
        if block.text.strip():
            yield self._head(block)
            yield quoted(block.text)
        else:
            yield self._head(block, more="not shown by the provider")

    @_parts.register(ToolCard)
    def _tool_card(self, block: ToolCard) -> Iterable[str]:
        yield f"**Tool: {inline(block.name)}** · #{block.sequence}" if block.name else f"**Tool** · #{block.sequence}"
        asked = tool_line.pretty(block.arguments_json)
        if asked.strip():
            yield fenced(asked)
        yield inline(tool_line.result(block))
        if block.output.strip():
            yield fenced(block.output)
        yield from map(_carried, block.carried)

    @_parts.register(Request)
    def _request(self, block: Request) -> Iterable[str]:
        yield self._head(
            block, name=block.asks_for.capitalize(), more="**waiting for an answer**" if block.is_open else ""
        )
        if block.prompt.strip():
            yield quoted(block.prompt)
        if block.options:
            yield f"Options: {' / '.join(map(inline, block.options))}"

    @_parts.register(Response)
    def _response(self, block: Response) -> Iterable[str]:
        yield self._head(block, name=block.outcome.capitalize())
        if block.answer.strip():
            yield quoted(block.answer)

    @_parts.register(Failure)
    def _failure(self, block: Failure) -> Iterable[str]:
        yield self._head(block, name=f"Error {block.reason}".strip())
        if block.message.strip():
            yield fenced(block.message)

    @_parts.register(Rule)
    def _rule(self, block: Rule) -> Iterable[str]:
        yield f"## {heading(block.label) or 'Unnamed section'}"

    @_parts.register(Line)
    def _line(self, block: Line) -> Iterable[str]:
        yield f"*{inline(block.text)}*"

    @_parts.register(ForeignRun)
    def _foreign_run(self, block: ForeignRun) -> Iterable[str]:
        yield f"*{inline(words(block))}*"


def _carried(one: Carried) -> str:
    what = one.name if one.name and one.name != one.uri else one.media_type or "file"
    return f"Attached: {inline(what)}, {inline(one.uri) if one.uri else size(one.size)}"
