"""Passages on a terminal, in colour and fitted to its width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from transcript_terminal.drawing.markdown import SafeMarkdown
from transcript_terminal.drawing.plain import is_apart, spans_text
from transcript_terminal.outline.passages import Form, Passage, Span, Tone
from transcript_terminal.safe_text import safe

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

THEME = Theme(
    {
        "transcript.strong": "bold",
        "transcript.dim": "dim",
        "transcript.user": "bold cyan",
        "transcript.agent": "bold green",
        "transcript.other": "bold magenta",
        "transcript.good": "green",
        "transcript.bad": "red",
        "transcript.waiting": "bold yellow",
        "transcript.code": "cyan",
        "markdown.code": "cyan",
        "markdown.h1": "bold",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.h4": "bold",
        "markdown.hr": "dim",
        "markdown.item.bullet": "dim",
        "markdown.item.number": "dim",
    }
)
MARKDOWN_LIMIT = 200_000  # code points; a longer body is drawn as plain text
_LEAST = 12  # cells that a span keeps when it gives way


class Neutral:
    """A drawing whose every word has gone through `safe`, with no link and no control code left in it."""

    def __init__(self, renderable: RenderableType) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in _rendered(self._renderable, console, options):
            if not segment.control:
                style = segment.style.update_link(None) if segment.style and segment.style.link else segment.style
                yield Segment(safe(segment.text), style)


def drawn(passages: Iterable[Passage], was_tight: bool | None = None) -> Iterator[RenderableType]:
    """The passages, an empty line between two unless both are tight."""
    for passage in passages:
        if is_apart(passage, was_tight):
            yield Text("")
        yield Neutral(Group(*_parts(passage)))
        was_tight = passage.is_tight


def _parts(passage: Passage) -> Iterator[RenderableType]:
    yield _SectionRule(passage.head) if passage.is_rule else _Head(passage.head)
    if passage.body:
        body = safe(passage.body)
        if passage.form is Form.MARKDOWN and len(body) <= MARKDOWN_LIMIT:
            yield Padding(_Body(body), (0, 0, 0, 2))
        else:
            yield Padding(Text(body, style=_style(passage.tone), overflow="fold"), (0, 0, 0, 2))
    for span in passage.after:
        yield Padding(_text((span,)), (0, 0, 0, 2))


class _Head:
    """A line; spans that give way are shortened until it fits."""

    def __init__(self, spans: tuple[Span, ...]) -> None:
        self._spans = spans

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _text(_fitted(self._spans, options.max_width))


class _SectionRule:
    """A heading in the middle of a line; a heading that is too long for that stands between two short ones."""

    def __init__(self, label: tuple[Span, ...]) -> None:
        self._label = label

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        label = _text(self._label)
        room = options.max_width - label.cell_len - 2
        left = max(room // 2, 4) if label.plain else room + 2
        right = max(room - left, 4) if label.plain else 0
        line = Text("─" * left, style="dim")
        if label.plain:
            line.append(" ").append_text(label).append(" ").append("─" * right, style="dim")
        yield line


class _Body:
    """Markdown; as it was written, where it cannot be drawn."""

    def __init__(self, markup: str) -> None:
        self._markup = markup

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        try:
            yield from list(console.render(SafeMarkdown(self._markup), options))
        except Exception:  # noqa: BLE001 - whatever somebody wrote, it is shown
            yield Text(self._markup, overflow="fold")


def _rendered(renderable: RenderableType, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
    return console.render(renderable, options)


def _style(tone: Tone) -> str:
    return "" if tone is Tone.PLAIN else f"transcript.{tone.value}"


def _text(spans: Iterable[Span]) -> Text:
    return Text.assemble(*((spans_text((span,)), _style(span.tone)) for span in spans), overflow="fold")


def _fitted(spans: tuple[Span, ...], width: int) -> tuple[Span, ...]:
    """The spans; those that give way share what the others leave, and no longer ones take what shorter ones spare."""
    room = width - sum(cell_len(spans_text((span,))) for span in spans if not span.gives_way)
    giving = sorted((span for span in spans if span.gives_way), key=lambda span: cell_len(spans_text((span,))))
    fitted = {}
    for at, span in enumerate(giving):
        share = max(room // (len(giving) - at), _LEAST)
        fitted[span] = _shortened(span, share)
        room -= cell_len(fitted[span].text)
    return tuple(fitted.get(span, span) for span in spans)


def _shortened(span: Span, room: int) -> Span:
    text = spans_text((span,))
    if cell_len(text) > room:
        text = (
            "…" + chop_cells(text[::-1], room - 1)[0][::-1] if span.keeps_end else chop_cells(text, room - 1)[0] + "…"
        )
    return Span(text, span.tone)
