"""The model's context: of a long session and of a short one, as of an old row and now, and by how much it holds."""

from __future__ import annotations

from itertools import islice

from bench.rounds import Rounds, median_of, rounds_until
from bench.rows import checkpoint, event_of
from bench.world import COMPACTED_EVERY, MANY, World, say

ROUNDS = 15
CALLS = 30
SMALL, LARGE, LARGER = 200, 1000, 8000
"""Rows of the surfaces that are read."""
SHORT = "context-of-a-short-session"


class Contexts:
    """The contexts that are measured; now, the two sessions' are the same rows."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._client = world.client
        # The compaction in the middle of the long session; the rows after it are those that follow every one.
        self._middle = world.loaded.many_rows // (COMPACTED_EVERY + 1) // 2 * (COMPACTED_EVERY + 1)

    async def prepare(self) -> None:
        """Compacts the long session and a short one, and has both go on with the same rows."""
        records = [*islice(self._world.records(10_000, seed=4, session=SHORT), 1000)]
        await self._client.create_session(SHORT)
        before = [event_of(record, named=False) for record in records[: 1000 - SMALL]]
        await self._client.append(SHORT, before, as_recorded=True)
        after = records[: SMALL - 1]
        for session in (SHORT, MANY):
            standing = await self._client.read_context(session)
            ends = standing.events[0].sequence, standing.events[-1].sequence
            rows = [checkpoint(*ends), *(event_of(record, named=False) for record in after)]
            await self._client.append(session, rows, as_recorded=True)

    async def check(self) -> None:
        """Makes sure that what is held against each other is the same."""
        short, many, then = [
            [event.WhichOneof("payload") for event in context.events]
            for context in (
                await self._client.read_context(SHORT),
                await self._client.read_context(MANY),
                await self._client.read_context(MANY, as_of_sequence=self._middle + SMALL - 1),
            )
        ]
        assert short == many
        assert len(short) == len(then) == SMALL

    async def now(self, session: str) -> None:
        await self._client.read_context(session)

    async def then(self, rows: int) -> None:
        """As it was in the middle of the long session, when it held this many rows."""
        context = await self._client.read_context(MANY, as_of_sequence=self._middle + rows - 1)
        assert len(context.events) == rows


async def measure_contexts(world: World, deadline: float) -> Rounds:
    """Takes turns until a time of `time.monotonic`; seconds by name, of the last two for each row."""
    contexts = Contexts(world)
    await contexts.prepare()
    await contexts.check()
    rounds = Rounds()
    for number in rounds_until(deadline, ROUNDS):
        say(f"contexts, round {number + 1}")
        rounds.add("context short", await median_of(CALLS, lambda: contexts.now(SHORT)))
        rounds.add("context many", await median_of(CALLS, lambda: contexts.now(MANY)))
        rounds.add("context then", await median_of(CALLS, lambda: contexts.then(SMALL)))
        rounds.add("row of large", await median_of(CALLS // 5, lambda: contexts.then(LARGE)) / LARGE)
        rounds.add("row of larger", await median_of(CALLS // 10, lambda: contexts.then(LARGER)) / LARGER)
    return rounds
