"""Somebody else's Markdown as HTML that can do nothing: no tags of theirs, no scripts, nothing from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from transcript_terminal.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token

MARKDOWN_LIMIT = 200_000
"""Code points; a longer text is shown as it was written."""
_LINKED = ("http://", "https://", "mailto:")
_SHIFT = 2  # The page's own headings stand above those of a message.


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
        """Whether an address is linked; if not, the link stays as it was written."""
        return url.lower().startswith(_LINKED)


def rendered(markdown: str) -> Markup:
    """The Markdown as HTML."""
    source = safe(markdown).strip("\n")
    if len(source) <= MARKDOWN_LIMIT:
        try:
            # Once more: an entity may have named a character that hides or reorders.
            return Markup(safe(_PARSER.render(source)))  # noqa: S704 - made of escaped text and the parser's own tags
        except Exception:  # noqa: BLE001, S110 - whatever somebody wrote, it is shown
            pass
    return Markup("<pre>{}</pre>").format(source)


def _link(self: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    tokens[at].attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, at, options, env)


def _image(_: RendererHTML, tokens: Sequence[Token], at: int, __: Any, ___: Any) -> str:
    return str(escape(f"[image: {tokens[at].content}]({tokens[at].attrs.get('src', '')})"))


def _heading(self: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    tokens[at].tag = f"h{min(int(tokens[at].tag[1]) + _SHIFT, 6)}"
    return self.renderToken(tokens, at, options, env)


def _cell(self: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
    style = str(tokens[at].attrs.pop("style", ""))  # The page's policy admits no style but its own.
    if style:
        tokens[at].attrSet("class", style.removeprefix("text-align:"))
    return self.renderToken(tokens, at, options, env)


def _table(_: RendererHTML, tokens: Sequence[Token], at: int, __: Any, ___: Any) -> str:
    return '<div class="wide"><table>\n' if tokens[at].nesting == 1 else "</table></div>\n"


_PARSER = _Parser("commonmark", {"html": False, "breaks": True}).enable(["strikethrough", "table"])
for _rule, _render in (
    ("link_open", _link),
    ("image", _image),
    ("heading_open", _heading),
    ("heading_close", _heading),
    ("th_open", _cell),
    ("td_open", _cell),
    ("table_open", _table),
    ("table_close", _table),
):
    _PARSER.add_render_rule(_rule, _render)
