"""Samples that are taken in turns, and what becomes of them."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field


@dataclass
class Rounds:
    """Values by name, one for each round."""

    values: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, name: str, value: float) -> None:
        """Notes what came out of this round."""
        self.values[name].append(value)

    def median(self, name: str) -> float:
        """The median over the rounds."""
        return statistics.median(self.values[name])

    def ratio(self, ours: str, peer: str) -> float:
        """The median of the rounds' own ratios: a round that was disturbed as a whole does not count for one side."""
        pairs = zip(self.values[ours], self.values[peer], strict=True)
        return statistics.median(one / other for one, other in pairs)


def rounds_until(deadline: float, most: int, least: int = 3) -> Iterator[int]:
    """Numbers of rounds: `most`, or as many as begin before a time of `time.monotonic`, but `least` in any case."""
    for number in range(most):
        if number >= least and time.monotonic() > deadline:
            return
        yield number


async def timed(calls: int, call: Callable[[], Awaitable[object]]) -> list[float]:
    """Seconds that each of some calls in sequence took."""
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        await call()
        times.append(time.perf_counter() - begun)
    return times


async def median_of(calls: int, call: Callable[[], Awaitable[object]]) -> float:
    """The median of some calls in sequence, in seconds."""
    return statistics.median(await timed(calls, call))


def percentile(times: list[float], share: float) -> float:
    """The value that this share of the values lies below."""
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]
