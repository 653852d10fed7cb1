"""Blocks → passages: the words that a reader is shown, the same in every drawing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, tzinfo
from functools import singledispatchmethod
from typing import TYPE_CHECKING

from transcript_terminal.outline import tool_line
from transcript_terminal.outline.amounts import count, size
from transcript_terminal.outline.blocks import (
    TIMED,
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
    Speaker,
    ToolCard,
)
from transcript_terminal.outline.passages import Form, Passage, Span, Tone

if TYPE_CHECKING:
    from transcript.v1.session_pb2 import Session

_TONES = {Speaker.USER: Tone.USER, Speaker.STEERING: Tone.USER, Speaker.AGENT: Tone.AGENT}
_OUTCOMES = {Outcome.OK: Tone.GOOD, Outcome.FAILED: Tone.BAD}
_ANSWERS = {"approved": Tone.GOOD, "denied": Tone.BAD, "cancelled": Tone.DIM}


class Wording:
    """Puts blocks into words, one after the other, and counts what it shortens or passes over."""

    def __init__(self, *, zone: tzinfo | None = None, whole: bool = False, numbered: bool = False) -> None:
        """*zone*: where the reader is, by default here; *whole*: shorten nothing; *numbered*: each with its row."""
        self._zone = zone
        self._whole = whole
        self._numbered = numbered
        self._day: date | None = None
        self.shortened_asides = 0
        self.shortened_cards = 0
        self.foreign_records = 0

    def passages(self, block: Block) -> Iterator[Passage]:
        """What is drawn for the block: a new day first, if one has begun."""
        if isinstance(block, ForeignRun) and not self._whole and not self._numbered:
            self.foreign_records += block.records
            return
        says_day = isinstance(block, TIMED) or (isinstance(block, Rule) and self._day is None)
        if block.time and says_day:
            local = block.time.astimezone(self._zone)
            if local.date() != self._day:
                self._day = local.date()
                yield Passage((Span(f"{local:%a} {local.day} {local:%b %Y}", Tone.DIM),))
        said = self.passage(block)
        if self._numbered and not said.is_rule and block.sequence:
            said = replace(said, head=(Span(f"#{block.sequence}  ", Tone.DIM), *said.head))
        yield said

    def heading(self, session: Session, *, counted: bool = True) -> Passage:
        """What stands above a session: its title, and how much there is of it."""
        amounts = [count(session.latest_turn, "turn"), count(session.message_count, "message")]
        about = [session.id] * bool(session.title) + amounts * counted
        after = (Span(" · ".join(about), Tone.DIM),) if about else ()
        return Passage((Span(session.title or session.id, Tone.STRONG, gives_way=True),), after=after)

    def reminder(self, block: Block) -> Passage:
        """The block in a line, for what goes on: of a question, that it waits."""
        if not isinstance(block, Request):
            return self.passage(block)
        options = f"  [ {' | '.join(block.options)} ]" if block.options else ""
        waits = Span(f"? waiting for an answer to #{block.sequence}: ", Tone.WAITING)
        return Passage((waits, Span(tool_line.one_line(block.prompt) + options, gives_way=True)), is_tight=True)

    def clock(self, moment: datetime | None) -> str:
        """The time of day where the reader is."""
        return f"{moment.astimezone(self._zone):%H:%M}" if moment else ""

    @singledispatchmethod
    def passage(self, block: Block) -> Passage:
        """The block in words, whatever day it is."""
        raise NotImplementedError(type(block).__name__)

    def _place(self, block: Block) -> tuple[Span, ...]:
        """When and where, behind a name. A numbered passage begins with its row already."""
        where = f"  #{block.sequence}" if block.sequence and not self._numbered else ""
        when = f"  {self.clock(block.time)}" if block.time else ""
        return (Span(when + where, Tone.DIM),)

    @passage.register(Message)
    def _message(self, block: Message) -> Passage:
        name = f"{block.speaker.value} {block.by}" if block.by else block.speaker.value
        head = (Span(name, _TONES.get(block.speaker, Tone.OTHER)), *self._place(block))
        if not block.text.strip() and not block.carried and not block.elided_bytes:
            return Passage((*head, Span("  (empty)", Tone.DIM)), is_tight=True)
        return Passage(
            head=head,
            body=block.text.strip("\n"),
            form=Form.MARKDOWN,
            after=(*map(_carried, block.carried), *_left_out(block.elided_bytes)),
        )

    @passage.register(Aside)
    def _aside(self, block: Aside) -> Passage:
        mark = Span(f"✻ {block.heading}", Tone.DIM)
        text = block.text.strip()
        if self._whole:
            return Passage((mark, *self._place(block)), body=text, tone=Tone.DIM, after=_left_out(block.elided_bytes))
        if not text:
            return Passage((mark, Span("  (not shown by the provider)", Tone.DIM)), is_tight=True)
        lines = len(text.splitlines())
        if block.is_folded:
            self.shortened_asides += 1
            return Passage((mark, Span(f"  ({count(lines, 'line')})", Tone.DIM)), is_tight=True)
        line = tool_line.one_line(text)
        spans = [mark, Span("  " + line, Tone.DIM)]
        if line != " ".join(text.split()) or block.elided_bytes:
            self.shortened_asides += 1
            spans += [Span(f"  ({count(lines, 'line')})", Tone.DIM)] * (lines > 1)
        return Passage(tuple(spans), is_tight=True)

    @passage.register(ToolCard)
    def _tool_card(self, block: ToolCard) -> Passage:
        name = Span(block.name or "tool", Tone.STRONG)
        spans = [Span("⏺ ", Tone.OTHER), name] if block.arguments_json or block.name else [Span("⏺ "), name]
        asked = tool_line.gist(block.arguments_json)
        if asked.words:
            words = tool_line.one_line(asked.words)
            spans += [Span("  "), Span(words, gives_way=True, keeps_end=asked.is_path)]
        came = tool_line.result(block)
        if came:
            tone = _OUTCOMES.get(block.outcome, Tone.DIM)
            spans += [Span("  "), Span(came, tone, gives_way=block.outcome is Outcome.FAILED)]
        if not self._whole:
            self.shortened_cards += tool_line.is_shortened(block)
            return Passage(tuple(spans), is_tight=True)
        parts = [tool_line.pretty(block.arguments_json), block.output.strip("\n")]
        return Passage(
            tuple(spans),
            body="\n\n".join(part for part in parts if part),
            tone=Tone.DIM,
            after=(*map(_carried, block.carried), *_left_out(block.elided_bytes)),
        )

    @passage.register(Request)
    def _request(self, block: Request) -> Passage:
        heading = f"? {block.asks_for}" + (", waiting for an answer" if block.is_open else "")
        options = (Span("[ " + " | ".join(block.options) + " ]", Tone.STRONG),) if block.options else ()
        return Passage(
            head=(Span(heading, Tone.WAITING if block.is_open else Tone.OTHER), *self._place(block)),
            body=block.prompt.strip("\n"),
            form=Form.MARKDOWN,
            after=(*options, *_left_out(block.elided_bytes)),
        )

    @passage.register(Response)
    def _response(self, block: Response) -> Passage:
        name = Span(f"! {block.outcome}", _ANSWERS.get(block.outcome, Tone.USER))
        return Passage(
            head=(name, *self._place(block)),
            body=block.answer.strip("\n"),
            form=Form.MARKDOWN,
            after=_left_out(block.elided_bytes),
        )

    @passage.register(Failure)
    def _failure(self, block: Failure) -> Passage:
        reason = f"✗ error {block.reason}" if block.reason else "✗ error"
        return Passage(head=(Span(reason, Tone.BAD), *self._place(block)), body=block.message.strip("\n"))

    @passage.register(Rule)
    def _rule(self, block: Rule) -> Passage:
        return Passage(head=(Span(block.label, Tone.STRONG),) if block.label else (), is_rule=True)

    @passage.register(Line)
    def _line(self, block: Line) -> Passage:
        return Passage((Span(block.text, Tone.BAD if block.is_warning else Tone.DIM),), is_tight=True)

    @passage.register(ForeignRun)
    def _foreign_run(self, block: ForeignRun) -> Passage:
        total = count(block.records, "record")
        said = f"{total} of {block.format} kept as they were: {block.kinds}"
        return Passage((Span(said, Tone.DIM),), is_tight=True)

    @passage.register(ForModel)
    def _for_model(self, block: ForModel) -> Passage:
        first, last = block.start_sequence, block.end_sequence
        where = f"for the model, in place of #{first}" + (f" to #{last}  " if last != first else "  ")
        inner = self.passage(block.block)
        return replace(inner, head=(Span(where, Tone.DIM), *inner.head), is_tight=False)

    @passage.register(Earlier)
    def _earlier(self, block: Earlier) -> Passage:
        if not block.sections:
            return Passage((Span(f"{count(block.rows, 'earlier row')}  [--all]", Tone.DIM),))
        missing = block.sections - len(block.labels)
        labels = ["…"] * (missing > 0) + [label or "unnamed" for label in block.labels]
        sections = " · ".join([count(block.sections, "earlier section"), *labels])
        if not block.rows:
            return Passage((Span(f"{sections}  [--expand]", Tone.DIM),))
        return Passage((Span(f"{count(block.rows, 'earlier row')} of this section, {sections}  [--all]", Tone.DIM),))


def _carried(one: Carried) -> Span:
    what = one.name if one.name and one.name != one.uri else one.media_type or "file"
    where = one.uri or (size(one.size) if one.size else "bytes left out")
    return Span(f"[{what}, {where}]", Tone.DIM)


def _left_out(elided_bytes: int) -> tuple[Span, ...]:
    return (Span(f"… {size(elided_bytes)} left out  [--whole]", Tone.DIM),) if elided_bytes else ()
