"""What the tests need to know of a Markdown page: its headings, its links and its code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FENCE = re.compile(r"^(\s*)```(\w*)\s*$")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")


@dataclass(frozen=True)
class Block:
    """A fenced code block."""

    language: str
    text: str
    line: int
    """Where its first line stands, from 1."""
    not_run: str | None
    """Why it is not run, if the page says so right above it."""


@cache
def split(path: Path) -> tuple[list[str], list[Block]]:
    """A page's lines outside its code blocks, and those blocks."""
    prose: list[str] = []
    blocks: list[Block] = []
    fence: tuple[str, str] | None = None
    code: list[str] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        mark = FENCE.match(line)
        if fence is None and mark:
            fence, code, first = (mark[1], mark[2]), [], number + 1
        elif fence is not None and mark:
            above = next((text for text in reversed(prose) if text.strip()), "")
            reason = NOT_RUN.match(above.strip())
            text = "\n".join(part.removeprefix(fence[0]) for part in code)
            blocks.append(Block(fence[1], text, first, reason[1] if reason else None))
            prose.append("```")  # so that a remark above this block is not taken for the next one's
            fence = None
        elif fence is not None:
            code.append(line)
        else:
            prose.append(line)
    return prose, blocks


def slug(heading: str) -> str:
    """The anchor that a heading is given where pages are shown."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def anchors(path: Path) -> set[str]:
    """What a link to a page may name after the hash."""
    found: dict[str, int] = {}
    names = set()
    for line in split(path)[0]:
        if heading := HEADING.match(line):
            name = slug(heading[1])
            names.add(f"{name}-{found[name]}" if name in found else name)
            found[name] = found.get(name, 0) + 1
    return names


def links(path: Path) -> Iterator[str]:
    """The targets of a page's links, code left out."""
    for line in split(path)[0]:
        yield from LINK.findall(re.sub(r"`[^`]*`", "``", line))


def in_code(path: Path) -> Iterator[str]:
    """What a page's text puts between backticks."""
    for line in split(path)[0]:
        yield from re.findall(r"`([^`]+)`", line)
