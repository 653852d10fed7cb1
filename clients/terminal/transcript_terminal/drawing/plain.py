"""Passages as plain lines: for pipes and files, and what a terminal's drawing says too.

Nothing is cut to a width and no escape is ever written. What somebody said is indented, so that
no message can pretend to be another's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transcript_terminal.outline.passages import Passage, Span
from transcript_terminal.safe_text import safe

INDENT = "  "
_ONE_LINE = str.maketrans("\n\t", "  ")


def lines(passages: Iterable[Passage]) -> Iterator[str]:
    """The lines of the passages, an empty one between two unless both are tight."""
    was_tight: bool | None = None
    for passage in passages:
        if is_apart(passage, was_tight):
            yield ""
        yield from passage_lines(passage)
        was_tight = passage.is_tight


def is_apart(passage: Passage, was_tight: bool | None) -> bool:
    """Whether an empty line stands before the passage. *was_tight*: the one before it; None: there is none."""
    return was_tight is not None and not (was_tight and passage.is_tight)


def passage_lines(passage: Passage) -> Iterator[str]:
    """The lines of one passage."""
    head = _line(passage.head)
    if passage.is_rule:
        yield f"──── {head} ────" if head else "────────"
    else:
        yield head
    if passage.body:
        for line in safe(passage.body).split("\n"):
            yield INDENT + line if line else ""
    for span in passage.after:
        yield INDENT + _line((span,))


def spans_text(spans: Iterable[Span]) -> str:
    """The spans on one line, made safe."""
    return "".join(safe(span.text).translate(_ONE_LINE) for span in spans)


def _line(spans: Iterable[Span]) -> str:
    return spans_text(spans).rstrip()
