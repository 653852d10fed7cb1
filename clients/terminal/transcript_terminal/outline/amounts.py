"""Amounts in words."""

from __future__ import annotations


def count(number: int, one: str, many: str = "") -> str:
    """`1 line`, `12 lines`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: int) -> str:
    """`812 bytes`, `41.2 KiB`."""
    if number < 1024:
        return count(number, "byte")
    if number < 1024 * 1024:
        return f"{number / 1024:.1f} KiB"
    return f"{number / 1024 / 1024:.1f} MiB"


def duration(seconds: float) -> str:
    """`0.3 s`, `4 min 10 s`, `2 h 5 min`."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
