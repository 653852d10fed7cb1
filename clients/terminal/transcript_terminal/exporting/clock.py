"""When things happened, as the exports say it: times of day, and the days in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transcript_terminal.outline.blocks import TIMED

if TYPE_CHECKING:
    from datetime import date, datetime, tzinfo

    from transcript_terminal.outline import Block


class Clock:
    """Tells the time where the export is made, or in *zone*."""

    def __init__(self, zone: tzinfo | None = None) -> None:
        self._zone = zone
        self._day: date | None = None

    def new_day(self, block: Block) -> str:
        """The day that begins with the block: `Tue 24 Nov 2026`; empty if none does."""
        local = self.local(block)
        if local is None or not isinstance(block, TIMED) or local.date() == self._day:
            return ""
        self._day = local.date()
        return f"{local:%a} {local.day} {local:%b %Y}"

    def time(self, block: Block) -> str:
        """The time of day: `09:12`; empty if the block has none."""
        local = self.local(block)
        return f"{local:%H:%M}" if local and isinstance(block, TIMED) else ""

    def local(self, block: Block) -> datetime | None:
        """The block's time, here."""
        return block.time.astimezone(self._zone) if block.time else None
