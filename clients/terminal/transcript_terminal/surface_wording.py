"""What `context` and `diff-context` say: a heading, the rows, and at last how much it all is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from transcript_terminal.comparing import Change
from transcript_terminal.outline import Passage, Span
from transcript_terminal.outline.amounts import count, size
from transcript_terminal.outline.blocks import Aside, Block, ForModel, Message, ToolCard
from transcript_terminal.outline.headlines import headline
from transcript_terminal.outline.passages import Tone
from transcript_terminal.weighing import Weight, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from transcript.v1.session_pb2 import Session
    from transcript_terminal.comparing import Run
    from transcript_terminal.outline import Wording
    from transcript_terminal.surface_lines import Lines, Row

_NAMED = 10  # of what took rows off


def heading(session: Session, *about: str, taken_off: Sequence[Block] = ()) -> Passage:
    """The session, what is shown of it, and of a comparison what took rows off."""
    said = " · ".join([session.id] * bool(session.title) + list(about))
    named = taken_off[-_NAMED:]
    more = [f"… {count(len(taken_off) - len(named), 'earlier one')}"] * (len(taken_off) > len(named))
    after = [Span(line, Tone.DIM) for line in (said, *more)] + [Span(headline(block)) for block in named]
    return Passage((Span(session.title or session.id, Tone.STRONG, gives_way=True),), after=tuple(after))


def whole(wording: Wording, row: Row) -> Iterator[Passage]:
    """All of the row, its amount behind its name; before it the day, if one has begun."""
    *before, last = wording.passages(row.block)
    yield from before
    yield replace(last, head=(*last.head, Span(f"  {row.weight}", Tone.DIM)))


def summary(rows: Sequence[Row]) -> Passage:
    """How much the model is sent, and whose."""
    if not rows:
        return Passage((Span("The context is empty.", Tone.STRONG),))
    total = _weight(rows)
    said = f"{count(len(rows), 'row')}, {size(total.text)} of text, about {count(total.tokens, 'token')}"
    if total.files:
        said += f"; {count(total.files, 'attachment')}" + (f", {size(total.carried)}" if total.carried else "")
    by_voice: dict[str, list[Row]] = {}
    for row in rows:
        by_voice.setdefault(_voice(row.block), []).append(row)
    shares = sorted(by_voice.items(), key=lambda share: _weight(share[1]).text, reverse=True)
    parts = [f"{voice} {size(_weight(of_one).text)} ({len(of_one):,})" for voice, of_one in shares]
    return Passage((Span(said, Tone.STRONG),), after=(Span(" · ".join(parts), Tone.DIM),))


def differences(lines: Lines, runs: Iterable[Run], rows: Mapping[int, Row], *, every: bool) -> Iterator[Passage]:
    """A line for every row that entered and every run that left or stays; with *every*, for every row."""
    for run in runs:
        of_run = [rows[event.sequence] for event in run.rows]
        if every or run.change is Change.ENTERED:
            yield from (lines.row(row, run.change) for row in of_run)
        elif run.change is Change.LEFT:
            yield lines.folded(of_run)
        else:
            yield lines.stay(of_run)


def balance(runs: Iterable[Run], rows: Mapping[int, Row]) -> Passage:
    """How much left, entered and stays, and what the context was and is."""
    found: dict[Change, list[Row]] = {change: [] for change in Change}
    for run in runs:
        found[run.change] += [rows[event.sequence] for event in run.rows]
    left, entered, stay = (_weight(found[change]) for change in (Change.LEFT, Change.ENTERED, Change.STAYS))
    amounts = [
        f"{count(len(found[Change.LEFT]), 'row')} left{_in_brackets(left)}",
        f"{len(found[Change.ENTERED]):,} entered{_in_brackets(entered)}",
        f"{len(found[Change.STAYS]):,} {'stays' if len(found[Change.STAYS]) == 1 else 'stay'}",
    ]
    was, now = left + stay, entered + stay
    context = f"context {was} → {now}, about {was.tokens:,} → {count(now.tokens, 'token')}"
    return Passage((Span(", ".join(amounts), Tone.STRONG),), after=(Span(context),))


def _in_brackets(weight: Weight) -> str:
    return f" ({weight})" if weight != Weight() else ""


def _weight(rows: Iterable[Row]) -> Weight:
    return together(row.weight for row in rows)


def _voice(block: Block) -> str:
    """Whose the row is, in a word."""
    match block:
        case ForModel():
            return _voice(block.block)
        case Message():
            return block.speaker.value
        case Aside():
            return block.heading.capitalize()
        case ToolCard():
            return "Tools"
        case _:
            return "Other"
