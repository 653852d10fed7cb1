"""Rows of the model's context and runs of them, a line each with the amount at its end.

On a terminal a line is cut to the width and its amount stands at the right. In a pipe nothing depends on
a width: a headline is as long there as `show` lets a shortened one be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from transcript_terminal.comparing import Change
from transcript_terminal.outline import Outline, Passage, Span
from transcript_terminal.outline.amounts import count
from transcript_terminal.outline.blocks import Block, ForModel, Message, Speaker
from transcript_terminal.outline.headlines import words
from transcript_terminal.outline.passages import Tone
from transcript_terminal.outline.tool_line import GIST_LIMIT, one_line
from transcript_terminal.safe_text import safe
from transcript_terminal.weighing import Weight, together, weigh

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from transcript.v1.event_pb2 import Event

_GAP = "  "
_AMOUNT = 10  # cells that all but a few amounts fit into
_LEAST = 8  # cells that a headline keeps, however narrow the terminal
_SEEN = 1000  # code points of a headline that any terminal has room for
_TONES = {Speaker.USER: Tone.USER, Speaker.STEERING: Tone.USER, Speaker.AGENT: Tone.AGENT}
_MARKS = {Change.LEFT: ("- ", Tone.BAD), Change.ENTERED: ("+ ", Tone.GOOD), Change.STAYS: ("  ", Tone.DIM)}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the surface as it is shown."""

    sequence: int
    block: Block
    weight: Weight


def rows_of(events: Sequence[Event]) -> list[Row]:
    """The surface's rows, each by itself: a call and its result are two."""
    outline = Outline(journal=True)
    for event in events:
        outline.add(event)
    return [Row(event.sequence, block, weigh(event)) for event, block in zip(events, outline.finish(), strict=True)]


class Lines:
    """Puts rows and runs of rows into a line each."""

    def __init__(self, rows: Iterable[Row], width: int | None) -> None:
        """*rows*: all that may be shown; *width*: of the terminal, None in a pipe."""
        self._width = width
        self._digits = len(str(max((row.sequence for row in rows), default=0)))

    def row(self, row: Row, change: Change | None = None) -> Passage:
        """The row's number and headline; *change*: what became of it."""
        number = f"#{row.sequence}".ljust(self._digits + 1) + _GAP
        said = words(row.block)
        if change is None:
            return self._line((Span(number, Tone.DIM),), [said], row.weight, block=row.block)
        mark, tone = _MARKS[change]
        return self._line((Span(mark + number, tone),), [said], row.weight, tone)

    def folded(self, rows: Sequence[Row]) -> Passage:
        """Rows that left, in one line: which, how many, and the headlines of the first and the last."""
        if len(rows) == 1:
            return self.row(rows[0], Change.LEFT)
        first, last = rows[0], rows[-1]
        mark, tone = _MARKS[Change.LEFT]
        where = f"{mark}#{first.sequence} to #{last.sequence}{_GAP}{count(len(rows), 'row')}: "
        said = [words(row.block) for row in (first, last)]
        return self._line((Span(where, tone),), said, together(row.weight for row in rows), tone)

    def stay(self, rows: Sequence[Row]) -> Passage:
        """Rows that stay, counted; one alone is shown, as what its changed neighbours belong to."""
        if len(rows) == 1:
            return self.row(rows[0], Change.STAYS)
        mark, tone = _MARKS[Change.STAYS]
        where = Span(f"{mark}… {count(len(rows), 'row')} stay", tone)
        return self._line((where,), [], together(row.weight for row in rows))

    def _line(
        self,
        where: tuple[Span, ...],
        said: list[str],
        weight: Weight,
        tone: Tone = Tone.PLAIN,
        block: Block | None = None,
    ) -> Passage:
        amount = str(weight).rjust(_AMOUNT) if self._width else str(weight)
        taken = sum(cell_len(span.text) for span in where)
        room = max(self._width - taken - cell_len(_GAP + amount), _LEAST) if self._width else None
        text = _shortened(said, room)
        spans = _toned(block, text) if block else (Span(text, tone),)
        padding = " " * (room - cell_len(text)) if room else ""
        return Passage((*where, *spans, Span(padding + _GAP + amount, Tone.DIM)), is_tight=True)


def _toned(block: Block, text: str) -> tuple[Span, ...]:
    """The headline with its first words in the tone of who speaks."""
    if not isinstance(block, Message | ForModel):
        return (Span(text),)
    name, colon, rest = text.partition(": ")
    tone = _TONES.get(block.speaker, Tone.OTHER) if isinstance(block, Message) else Tone.OTHER
    return Span(name + colon, tone), Span(rest)


def _shortened(said: list[str], room: int | None) -> str:
    """The headlines on one line; *room*: in cells, None in a pipe. The shorter of two leaves the other what it can."""
    if room is None:
        return _joined([one_line(text, GIST_LIMIT // len(said)) for text in said])
    texts = [safe(text[:_SEEN]) for text in said]
    if len(texts) == 2:
        half = (room - 3) // 2
        lengths = [min(cell_len(text), half) for text in texts]
        texts = [_cut(text, max(half, room - 3 - lengths[1 - place])) for place, text in enumerate(texts)]
    return _cut(_joined(texts), room)


def _cut(text: str, room: int) -> str:
    return text if cell_len(text) <= room else set_cell_size(text, room - 1).rstrip() + "…"


def _joined(texts: Sequence[str]) -> str:
    """One headline, or the first and the last of several."""
    return " … ".join([*(text.rstrip(" …") for text in texts[:-1]), *texts[-1:]])
