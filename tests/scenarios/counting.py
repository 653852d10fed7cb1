"""Lines that count on: `… 57 more, counting on` stands for lines that follow from the two above it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MORE = re.compile(r"… ([0-9]+) more( pairs)?, counting on")
_NUMBER = re.compile(r"([0-9]+)")


class CountingError(ValueError):
    """It is not clear how the lines count on."""


def written_out(lines: Iterable[str]) -> list[str]:
    """The lines, with every `… n more, counting on` replaced by the n lines that it stands for.

    Each of these is the line above it once more, every number in it further by as much as in the line
    above that. `… n more pairs, counting on` stands for n times two lines, and follows from two pairs.

    Raises:
        CountingError: There is too little above, or it differs in more than its numbers.
    """
    written: list[str] = []
    for line in lines:
        more = _MORE.fullmatch(line)
        if not more:
            written.append(line)
            continue
        period = 2 if more[2] else 1
        if len(written) < 2 * period:
            raise CountingError(f"{line!r} needs {2 * period} lines above it")
        for _ in range(int(more[1]) * period):
            written.append(_next(written[-2 * period], written[-period]))
    return written


def _next(first: str, second: str) -> str:
    """The line that comes after these two."""
    words, numbers = _taken_apart(second)
    if _taken_apart(first)[0] != words:
        raise CountingError(f"{first!r} and {second!r} differ in more than their numbers")
    onward = [2 * new - old for old, new in zip(_taken_apart(first)[1], numbers, strict=True)]
    return words[0] + "".join(f"{number}{word}" for number, word in zip(onward, words[1:], strict=True))


def _taken_apart(line: str) -> tuple[Sequence[str], Sequence[int]]:
    parts = _NUMBER.split(line)
    return parts[::2], [int(number) for number in parts[1::2]]
