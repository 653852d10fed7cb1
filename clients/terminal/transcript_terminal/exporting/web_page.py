"""A session as one web page that needs nothing else: no scripts, nothing loaded, all of its style within."""

from __future__ import annotations

import base64
import hashlib
from functools import singledispatchmethod
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from transcript_terminal.exporting.clock import Clock
from transcript_terminal.exporting.rendering import rendered
from transcript_terminal.outline import tool_line
from transcript_terminal.outline.amounts import count, size
from transcript_terminal.outline.blocks import (
    Aside,
    Block,
    Carried,
    Failure,
    ForeignRun,
    Line,
    Message,
    Outcome,
    Request,
    Response,
    Rule,
    ToolCard,
)
from transcript_terminal.outline.headlines import words
from transcript_terminal.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transcript_terminal.exporting.overview import Overview
    from transcript_terminal.exporting.retelling import Item

IMAGE_LIMIT = 4 << 20
"""Bytes of an image that is shown; a larger one is named."""
# What is shown, and how such a file begins.
_IMAGES = {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8", "image/webp": b"RIFF"}


class WebPage:
    """Writes the page part by part."""

    def __init__(self, overview: Overview) -> None:
        self._overview = overview
        self._clock = Clock()
        self._templates = Environment(
            loader=PackageLoader("transcript_terminal.exporting"),
            autoescape=True,
            finalize=_finalized,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self._templates.filters |= {
            "markdown": rendered,
            "size": size,
            "lines": lambda text: count(len(text.strip().splitlines()), "line"),
            "source": _source,
            "linked": _linked,
        }
        self._parts = self._templates.get_template("parts.html").module

    def begin(self) -> Iterator[str]:
        """What stands above the rows, the table of contents included."""
        loader = self._templates.loader
        style = loader.get_source(self._templates, "style.css")[0] if loader else ""
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        page = self._templates.get_template("begin.html")
        yield from page.generate(about=self._overview, style=Markup(style), digest=digest)  # noqa: S704 - our own
        yield "\n"

    def item(self, item: Item) -> Iterator[str]:
        """A block, and before it the day, if a new one has begun."""
        day = self._clock.new_day(item.block)
        if day:
            yield self._part("day", day)
        yield self._part("anchors", item.also)
        if item.summary:
            yield self._part("checkpoint", item.block, item.summary)
        else:
            yield self._drawn(item.block)

    def end(self) -> Iterator[str]:
        """What stands below them."""
        yield self._templates.get_template("end.html").render()

    def _part(self, name: str, *arguments: Any) -> str:
        return str(getattr(self._parts, name)(*arguments))

    def _when(self, block: Block) -> dict[str, str]:
        local = self._clock.local(block)
        return {
            "time": self._clock.time(block),
            "stamp": f"{local:%Y-%m-%dT%H:%M:%S%z}" if local else "",
            "full": f"{local:%a} {local.day} {local:%b %Y, %H:%M:%S %Z}" if local else "",
        }

    @singledispatchmethod
    def _drawn(self, block: Block) -> str:
        raise NotImplementedError(type(block).__name__)

    @_drawn.register(Message)
    def _message(self, block: Message) -> str:
        return self._part("message", block, block.speaker.name.lower(), self._when(block))

    @_drawn.register(Aside)
    def _aside(self, block: Aside) -> str:
        return self._part("aside", block)

    @_drawn.register(ToolCard)
    def _tool_card(self, block: ToolCard) -> str:
        words = tool_line.one_line(tool_line.gist(block.arguments_json).words)
        arguments = tool_line.pretty(block.arguments_json)
        mood = {Outcome.OK: "ok", Outcome.FAILED: "failed"}.get(block.outcome, "open")
        came = tool_line.result(block).lstrip("→✗… ")
        return self._part("tool", block, words, arguments, came, mood)

    @_drawn.register(Request)
    def _request(self, block: Request) -> str:
        return self._part("request", block, self._when(block))

    @_drawn.register(Response)
    def _response(self, block: Response) -> str:
        return self._part("response", block, self._when(block))

    @_drawn.register(Failure)
    def _failure(self, block: Failure) -> str:
        return self._part("failure", block, self._when(block))

    @_drawn.register(Rule)
    def _rule(self, block: Rule) -> str:
        return self._part("rule", block)

    @_drawn.register(Line)
    def _line(self, block: Line) -> str:
        return self._part("line", block)

    @_drawn.register(ForeignRun)
    def _foreign_run(self, block: ForeignRun) -> str:
        return self._part("line", Line(sequence=block.sequence, text=words(block)))


def _finalized(value: Any) -> Any:
    """Whatever a template puts on the page: somebody else's words are made safe, and then escaped."""
    return safe(value) if type(value) is str else value


def _source(one: Carried) -> str:
    """The image itself, if it is of a kind and size that is shown; else nothing."""
    begins = _IMAGES.get(one.media_type)
    if begins is None or not one.data.startswith(begins) or len(one.data) > IMAGE_LIMIT:
        return ""
    return f"data:{one.media_type};base64,{base64.b64encode(one.data).decode()}"


def _linked(line: Line) -> Markup:
    """A line with the row that it cites linked."""
    before, named, after = safe(line.text).partition(f"#{line.cites}" if line.cites else "\0")
    link = Markup('<a href="#{0}">#{0}</a>').format(line.cites) if named else ""
    return escape(before) + link + escape(after)
