"""Somebody else's words inside a Markdown document of ours: whatever they say, they stay in their place.

What is safe on a terminal is safe in a file that is shown on one. Beyond that no word of a transcript may act as a
heading, an end of a quote or a tag of the document, and nothing is loaded from elsewhere.
"""

from __future__ import annotations

import html
import re

from markdown_it import MarkdownIt

from transcript_terminal.safe_text import safe

# Raw HTML and definitions are text here too, so that the parser sees what a reader of the escaped document sees. What
# stands within a line is not its affair.
_PARSERS = (
    MarkdownIt("commonmark", {"html": False}).disable(["inline", "reference"]),
    MarkdownIt("commonmark", {"html": False}).enable("table").disable(["inline", "reference"]),
)
_SPECIAL = re.compile(r"([\\`*\[\]<>&~|]|(?<!\w)_|_(?!\w))")
_TAG_LINE = re.compile(r"(\n[ >]*)<")
_CELLS = re.compile(r"(?<!\\)\|")
_TICKS = re.compile(r"`+")
_ACTS = re.compile(r"<|!\[|\]:|&|\t")
_STOP = re.compile(r"\\.|`+|<(?:https?://|mailto:)[^\s<>]*>|<|!\[|\]:|&#?\w+;", re.DOTALL)
LIMIT = 50_000
"""Code points of Markdown; a longer text is fenced, for telling code from text takes long there."""


def inline(text: str) -> str:
    """Plain words within a line."""
    return _SPECIAL.sub(r"\\\1", " ".join(safe(text).split()))


def heading(text: str) -> str:
    """Plain words as a heading's."""
    return inline(text).replace("#", "\\#")


def fenced(text: str) -> str:
    """Text as it is, in a fence that it cannot end."""
    said = safe(text).strip("\n")
    ticks = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(said)), default=0))
    return f"{ticks}\n{said}\n{ticks}"


def quoted(text: str) -> str:
    """Markdown as a quote: its headings and fences end with it, its HTML is text, its images are links.

    What it defines for references and footnotes is text as well: such definitions hold for the whole document.
    """
    said = safe(text).strip("\n")
    lines = (_neutral(said) if len(said) <= LIMIT else fenced(said)).split("\n")
    return "\n".join(f"> {line}".rstrip() if line.strip() else ">" for line in lines)


def _neutral(markdown: str) -> str:
    """The Markdown with what acts on the document escaped, except in code, where it does not.

    What is code depends on whether a reader knows tables: it is left as it is if it is code for both.
    """
    if not _ACTS.search(markdown):
        return markdown
    # Behind a quote's mark a tab is narrower, so that what it indents would mean something else.
    written, lines = markdown.split("\n"), markdown.expandtabs(4).split("\n")
    readings = [_escaped_lines(lines, written, parser) for parser in _PARSERS]
    return "\n".join(
        one if one == other else _escaped(line, has_code=False)
        for line, one, other in zip(lines, *readings, strict=True)
    )


def _escaped_lines(lines: list[str], written: list[str], parser: MarkdownIt) -> list[str]:
    """The lines escaped as one kind of reader needs it; *written*: the lines with their tabs, for code alone."""
    escaped = lines.copy()
    code: set[int] = set()
    starts: set[int] = set()
    tables: set[int] = set()
    for token in parser.parse("\n".join(lines)):
        begin, end = token.map or (0, 0)
        if token.type in ("fence", "code_block"):
            code.update(range(begin, end))
        elif token.type == "table_open":
            tables.update(range(begin, end))
        elif token.type == "inline":
            starts.add(begin)
        if token.type == "fence" and not token.level:
            escaped[begin + 1 : end] = written[begin + 1 : end]
    # No code span leaves a table's cell.
    for line in tables:
        escaped[line] = "|".join(map(_escaped, _CELLS.split(lines[line])))
    apart = code | tables
    begin = 0
    for end in range(1, len(lines) + 1):
        if end == len(lines) or end in starts or {end - 1, end} & apart or not lines[end].strip("> "):
            if begin not in apart:
                escaped[begin:end] = _escaped("\n".join(lines[begin:end])).split("\n")
            begin = end
    return escaped


def _escaped(passage: str, *, has_code: bool = True) -> str:
    """A passage, which no code span leaves, with tags, images, definitions and what hides escaped outside of code."""
    parts: list[str] = []
    at = 0
    while found := _STOP.search(passage, at):
        parts.append(passage[at : found.start()])
        said, at = found[0], found.end()
        if said[0] == "`" and has_code:
            end = next((one.end() for one in _TICKS.finditer(passage, at) if len(one[0]) == len(said)), at)
            # A tag that begins a line is one even in code.
            said, at = _TAG_LINE.sub(r"\1\\<", passage[found.start() : end]), end
        elif said == "]:":
            said = "]\\:"
        elif said in ("<", "![") or (said[0] == "&" and _hides(said)):
            said = f"\\{said}"
        parts.append(said)
    return "".join([*parts, passage[at:]])


def _hides(entity: str) -> bool:
    meant = html.unescape(entity)
    return safe(meant) != meant
