"""The order of a stream of appends, when one is asked for before the one before it has been answered."""

from __future__ import annotations


class Lane:
    """Appends that come in order: once one of them failed, none that was asked for after it is taken.

    Used by the store alone, which looks and writes where it writes rows.

    Attributes:
        failed: Whether one failed.
    """

    def __init__(self) -> None:
        self.failed = False


class LaneClosed(Exception):  # noqa: N818 - not a fault: the one that failed says why
    """An append was not taken, because one before it in its lane failed."""
