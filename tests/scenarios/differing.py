"""What a scenario's failure says: the lines that differ, a few around them, and nothing of Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import ndiff

import pytest

from .scenario import Scenario

AROUND = 2  # lines on each side of one that differs
MOST = 24  # lines of one comparison


class Differences:
    """Gathers all that differs in a scenario, so that one run tells the whole of it."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._told: list[str] = []

    def compare(self, what: str, expected: Sequence[str], there: Sequence[str]) -> None:
        """Take note of lines that are there in place of those that are expected."""
        if list(expected) != list(there):
            near = list(_near(list(ndiff(expected, there))))
            more = [f"  … {len(near) - MOST} more lines of this"] if len(near) > MOST else []
            self._told += ["", f"{what}  (- expected, + there)", *near[:MOST], *more]

    def note(self, what: str) -> None:
        """Take note of something that lines do not show."""
        self._told += ["", what]

    def fail_if_any(self) -> None:
        """Fails the test, and tells them."""
        if self._told:
            told = [f"{self._scenario.name}.yaml: {self._scenario.about}", *self._told]
            pytest.fail("\n".join(told), pytrace=False)


def _near(compared: list[str]) -> Iterator[str]:
    """Of a comparison the lines that differ, and those around them."""
    differing = [n for n, line in enumerate(compared) if not line.startswith(" ")]
    shown = -1
    for n, line in enumerate(compared):
        if any(abs(n - other) <= AROUND for other in differing):
            yield from ["  …"] * (n > shown + 1)
            yield line.rstrip()
            shown = n
    yield from ["  …"] * (shown < len(compared) - 1)
