"""A bar for how far an export has come: on stderr, if that is a terminal and the export goes elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from transcript_terminal.output import progress_console

if TYPE_CHECKING:
    from typing import Self

_SECONDS = 1.0  # A bar that is gone as soon as it is seen tells nobody anything.


class RowBar:
    """One bar, for the rows of one export. A context manager: the bar is gone at its end."""

    def __init__(self, rows: int, *, is_wanted: bool) -> None:
        """*rows*: how many there are; *is_wanted*: the export itself is not being drawn on a terminal."""
        self._rows = rows
        self._begins = time.monotonic() + _SECONDS
        self._bar: Progress | None = None
        if is_wanted and sys.stderr.isatty():
            columns = (TextColumn("rows"), BarColumn(), MofNCompleteColumn())
            self._bar = Progress(*columns, console=progress_console(), transient=True, redirect_stdout=False)
            self._task = self._bar.add_task("", total=rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def show(self, row: int) -> None:
        """The export has come as far as this row."""
        if self._bar:
            self._bar.update(self._task, completed=row)
            if not self._bar.live.is_started and time.monotonic() >= self._begins:
                self._bar.start()
