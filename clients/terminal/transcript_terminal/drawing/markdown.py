"""Somebody else's Markdown on a terminal: everything that was written is shown, nothing is fetched or linked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from rich import box
from rich.markdown import CodeBlock, Heading, Markdown, TableElement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markdown_it.token import Token
    from rich.console import Console, ConsoleOptions, RenderResult

# HTML is text like any other: parsed, it would vanish. A line break is meant as one.
_PARSER = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["strikethrough", "table"])


class _LeftHeading(Heading):
    """A heading at the left, with the marks that it was written with."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("#" * int(self.tag[1]) + " ", style=f"markdown.{self.tag}").append_text(self.text)


class _PlainCode(CodeBlock):
    """Code as it is, one colour on any background."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Padding(Text(str(self.text).rstrip("\n"), style="transcript.code", overflow="fold"), (0, 0, 0, 2))


class _FoldingTable(TableElement):
    """A table whose cells are folded, never cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
        if self.header and self.header.row:
            for column in self.header.row.cells:
                table.add_column(column.content, overflow="fold", justify=column.justify)
        for row in self.body.rows if self.body else ():
            table.add_row(*(cell.content for cell in row.cells))
        yield table


class SafeMarkdown(Markdown):
    """Markdown without HTML, images and hyperlinks: each stands there as text."""

    elements = Markdown.elements | {
        "heading_open": _LeftHeading,
        "fence": _PlainCode,
        "code_block": _PlainCode,
        "table_open": _FoldingTable,
    }

    def __init__(self, markup: str) -> None:
        super().__init__("", hyperlinks=False)
        self.markup = markup
        self.parsed = _PARSER.parse(markup)
        for token in self.parsed:
            if token.children:
                token.children = list(_as_text(token.children))


def _as_text(tokens: Iterable[Token]) -> Iterable[Token]:
    """Inline tokens with every line break kept, every image as text, and every link's address once."""
    children = list(tokens)
    for at, token in enumerate(children):
        if token.type == "softbreak":
            token.type = "hardbreak"
        if token.type == "image":
            token.type, token.tag = "text", ""
            token.content = f"[image: {token.content}]({token.attrs.get('src', '')})"
            token.children = None
        if _is_bare_link(children, at) or _is_bare_link(children, at - 2):
            continue
        yield token


def _is_bare_link(tokens: list[Token], at: int) -> bool:
    """Whether a link whose text is its address begins here."""
    return (
        0 <= at < len(tokens) - 2
        and tokens[at].type == "link_open"
        and tokens[at + 2].type == "link_close"
        and tokens[at + 1].content == tokens[at].attrs.get("href")
    )
