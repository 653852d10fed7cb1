"""A bar for how far a file has been read: on stderr, and only if that is a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, DownloadColumn, TextColumn
from rich.progress import Progress as Bar

from transcript_terminal.output import progress_console
from transcript_terminal.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transcript_importers import Progress


class FileBar:
    """One bar, for the file that is being read."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        if sys.stderr.isatty():
            columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn())
            self._bar = Bar(*columns, console=progress_console(), transient=True, redirect_stdout=False)
            self._task = self._bar.add_task("", visible=False)
            self._bar.start()

    def show(self, progress: Progress) -> None:
        """Draw how far the file has been read."""
        if self._bar:
            name = safe(Path(progress.file).name)
            done, total = progress.done_bytes, progress.total_bytes
            self._bar.update(self._task, description=name, completed=done, total=total, visible=True)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Within: the bar is off the screen, so that a line can be written."""
        if not self._bar:
            yield
            return
        self._bar.stop()
        yield
        self._bar.start()

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._bar:
            self._bar.stop()
