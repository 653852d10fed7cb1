"""A block in one line: for lists, for comparing, for the expectations of the scenarios.

Neutral: no colours, times or flags, and nothing is shortened. Who draws a line cuts it and makes it safe.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

from transcript_terminal.outline.amounts import count, size
from transcript_terminal.outline.blocks import (
    Aside,
    Block,
    Carried,
    Earlier,
    Failure,
    ForeignRun,
    ForModel,
    Line,
    Message,
    Outcome,
    Request,
    Response,
    Rule,
    ToolCard,
)


def headline(block: Block) -> str:
    """The block in a line, its row first: `#12 User: Fix the parser`. White space is single spaces."""
    return f"#{block.sequence} {words(block)}" if block.sequence else words(block)


def words(block: Block) -> str:
    """The same without its row."""
    return " ".join(_words(block).split())


@singledispatch
def _words(block: Block) -> str:
    raise NotImplementedError(type(block).__name__)


@_words.register
def _message(block: Message) -> str:
    name = f"{block.speaker.value} {block.by}" if block.by else block.speaker.value
    return _said(name, block.text, block.carried, block.elided_bytes)


@_words.register
def _aside(block: Aside) -> str:
    return _said(block.heading.capitalize(), block.text, (), block.elided_bytes)


@_words.register
def _tool_card(block: ToolCard) -> str:
    called = block.outcome is Outcome.APART
    name = block.name or ("" if called or block.arguments_json else "result")
    call = f"Tool {'call ' * called}{name} {block.arguments_json}".rstrip()
    came = f": {block.outcome.value}" if block.outcome.value else ""
    output = f": {block.output}" if block.output.strip() else ""
    return call + came + output + _extras(block.carried, block.elided_bytes)


@_words.register
def _request(block: Request) -> str:
    asks = "Asks" if block.asks_for == "question" else f"Asks for {block.asks_for}"
    options = f" [{' | '.join(block.options)}]" if block.options else ""
    waiting = " (waiting)" if block.is_open else ""
    return f"{asks}: {block.prompt}{options}{waiting}{_extras((), block.elided_bytes)}"


@_words.register
def _response(block: Response) -> str:
    answer = f": {block.answer}" if block.answer.strip() else ""
    return block.outcome.capitalize() + answer + _extras((), block.elided_bytes)


@_words.register
def _failure(block: Failure) -> str:
    reason = f"Error {block.reason}" if block.reason else "Error"
    return f"{reason}: {block.message}" if block.message.strip() else reason


@_words.register
def _rule(block: Rule) -> str:
    return f"── {block.label} ──" if block.label else "────"


@_words.register
def _line(block: Line) -> str:
    return f"· {block.text}"


@_words.register
def _foreign_run(block: ForeignRun) -> str:
    return f"{count(block.records, 'record')} of {block.format}: {block.kinds}"


@_words.register
def _for_model(block: ForModel) -> str:
    first, last = block.start_sequence, block.end_sequence
    where = f"#{first}" if last == first else f"#{first} to #{last}"
    return f"In place of {where}: {_words(block.block)}"


@_words.register
def _earlier(block: Earlier) -> str:
    rows = count(block.rows, "earlier row")
    if not block.sections:
        return rows
    unlisted = ["…"] * (block.sections > len(block.labels))
    labels = [label or "unnamed" for label in block.labels]
    sections = " · ".join([count(block.sections, "earlier section"), *unlisted, *labels])
    return f"{rows} of this section, {sections}" if block.rows else sections


def _said(name: str, text: str, carried: Iterable[Carried], elided_bytes: int) -> str:
    extras = _extras(carried, elided_bytes)
    return f"{name}: {text}{extras}" if text.strip() or extras else f"{name}: (empty)"


def _extras(carried: Iterable[Carried], elided_bytes: int) -> str:
    """What stands behind a text: what it carries, and how much of it this copy lacks."""
    files = "".join(f" [{one.media_type or 'file'} {one.name or one.uri}]".replace(" ]", "]") for one in carried)
    return files + (f" (… {size(elided_bytes)} left out)" if elided_bytes else "")
