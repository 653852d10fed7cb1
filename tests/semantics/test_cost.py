"""A page's cost depends on the page (rule 22); how much it is, is measured by the benchmark and not here."""

from __future__ import annotations

import time

import pytest

from transcript.v1.transcript_service_pb2 import VIEW_COMPACT, VIEW_FULL, VIEW_JOURNAL

from .rows import begin, call, end, marker, reply, result, status, user
from .wire import Wire

FACTOR = 3.0


async def grow(wire: Wire, session_id: str, turns: int) -> None:
    """Turns of eight rows; the last one is the same in every session."""
    await wire.create(session_id)
    turn = [user("a prompt"), begin(), call(), result(), status(), status(), reply(), end()]
    for start in range(0, turns, 100):
        count = min(100, turns - start)
        await wire.append(session_id, marker("part"), *turn * count, as_recorded=True)


async def best(wire: Wire, session_id: str, **fields) -> float:
    """Seconds that a page takes, undisturbed."""
    times = []
    for _ in range(15):
        before = time.perf_counter()
        await wire.page(session_id, **fields)
        times.append(time.perf_counter() - before)
    return min(times)


@pytest.mark.parametrize("view", [VIEW_COMPACT, VIEW_FULL, VIEW_JOURNAL])
async def test_rule_22_a_page_costs_as_much_in_a_long_session_as_in_a_short_one(wire: Wire, view):
    """20,000 rows against 800: from the tip, from the middle, forwards, expanded, and as of an earlier row."""
    await grow(wire, "short", 100)
    await grow(wire, "long", 2500)
    for fields in (
        {},
        {"expand_sections": True},
        {"before_sequence": 400},
        {"after_sequence": 100},
        {"as_of_sequence": 700},
    ):
        short = await best(wire, "short", view=view, **fields)
        long = await best(wire, "long", view=view, **fields)
        assert long < FACTOR * short, (fields, short, long)
