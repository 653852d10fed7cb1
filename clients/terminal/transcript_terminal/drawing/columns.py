"""Rows of a list as aligned columns, whatever script they are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from transcript_terminal.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = "  "
_LEAST = 4  # cells, below which nothing is left of the last column


def aligned(rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """The rows as lines. *width*: of the terminal, to which the last column is cut; None: nothing is cut."""
    cells = [[" ".join(safe(cell).split()) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = [set_cell_size(cell, size) for cell, size in zip(row[:-1], widths, strict=False)]
        before = "".join(cell + GAP for cell, size in zip(padded, widths, strict=False) if size)
        lines.append((before + _cut(row[-1], width and width - cell_len(before))).rstrip())
    return lines


def _cut(text: str, room: int | None) -> str:
    if room is None or cell_len(text) <= room:
        return text
    return set_cell_size(text, room - 1).rstrip() + "…" if room >= _LEAST else ""
