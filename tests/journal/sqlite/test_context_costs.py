"""What reading the surface costs, in steps of SQLite's machine: what the surface holds, not what the session does."""

from __future__ import annotations

from collections.abc import AsyncIterator

import apsw
import pytest
from semantics.rows import call, checkpoint, reply, reset, result, rewind, status, user

from journal.callers import ME, Caller
from journal.stores import Clock, SqliteStore
from transcript_server.journal.sqlite.contexts import standing_as_of
from transcript_server.journal.sqlite.heads import find
from transcript_server.journal.sqlite.surfaces import STANDING_OF_CALL

PROBE, ROW, BEGINNING = 20, 10.4, 60
"""Steps at most: of a probe that finds nothing, of a row (1.25 times what one takes at the tip), and beside them."""


def at_most(tip: int, held: int) -> float:
    """What finding a surface of so many rows may take: a probe for each bit of the last sequence, and the rows."""
    return BEGINNING + PROBE * tip.bit_length() + ROW * held


async def steps(caller: Caller, session_id: str, as_of: int) -> tuple[int, int]:
    """The steps that finding the surface takes, and how many rows it holds."""

    def count(connection: apsw.Connection) -> tuple[int, int]:
        taken = 0

        def step() -> bool:
            nonlocal taken
            taken += 1
            return False

        head = find(connection, ME, session_id)
        connection.set_progress_handler(step, 1)
        try:
            standing = standing_as_of(connection, head, as_of)
        finally:
            connection.set_progress_handler(None)
        return taken, len(standing)

    return await caller.journal._readers.do(count)


@pytest.fixture
async def caller(store: SqliteStore, clock: Clock) -> AsyncIterator[Caller]:
    """One that may look into the store."""
    yield Caller(await store.open(clock))
    await store.close()


async def test_rule_22_a_surface_costs_what_it_holds_now_and_as_of_any_row(caller: Caller) -> None:
    """Before and after it lie a large surface that was compacted, one that was emptied, and many single rows."""
    await caller.create()
    await caller.fill("s", user(), 5_000)
    await caller.append("s", checkpoint(1, 5_000))
    await caller.fill("s", reply(), 200)
    await caller.fill("s", status(), 3_000)
    await caller.append("s", checkpoint(5_001, 5_201), *[reply()] * 99)
    await caller.fill("s", user(), 5_000)
    await caller.append("s", reset(), *[user()] * 100)
    tip = (await caller.session()).latest_sequence

    sizes = set()
    for as_of in [
        *range(1, 60),
        *range(4_980, 5_300),
        8_000,
        8_201,
        8_202,
        *range(8_240, 8_340),
        13_000,
        tip - 90,
        tip,
    ]:
        taken, held = await steps(caller, "s", as_of)
        sizes.add(held)
        assert taken <= at_most(tip, held), (as_of, taken, held)
    assert {1, 50, 201, 100} <= sizes


async def test_rule_22_rows_that_were_rewound_again_and_again_cost_nothing(caller: Caller) -> None:
    """Each attempt left the surface whole before the next one came."""
    await caller.create()
    await caller.append("s", user())
    for _ in range(60):
        await caller.append("s", *[reply()] * 99, rewind(1))
    tip = (await caller.session()).latest_sequence
    for as_of in (tip, tip - 1, tip - 50, tip // 2, tip // 2 + 37, 101, 100, 2):
        taken, held = await steps(caller, "s", as_of)
        assert held <= 100
        assert taken <= at_most(tip, held), (as_of, taken, held)


async def test_rule_26_a_replacement_looks_at_a_call_once_however_many_rows_stand_under_its_id(caller: Caller) -> None:
    """Once when it takes them, and once when the append is judged: every other writer waits for it."""
    await caller.create()
    await caller.append("s", *[row for _ in range(200) for row in (call("same"), result("same"))])
    looked: list[str] = []

    def trace(_: object, statement: str, __: object) -> bool:
        looked.append(statement)
        return True

    def watch(connection: apsw.Connection, _: object) -> None:
        connection.exec_trace = trace

    await caller.journal._writer.do(watch)
    await caller.append("s", checkpoint(1, 400))
    assert looked.count(STANDING_OF_CALL) == 2
