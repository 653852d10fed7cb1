"""A store without room: writes are refused, reads go on, and it recovers by itself (section 8 of the design)."""

from __future__ import annotations

import asyncio

import pytest
from semantics.polling import eventually
from semantics.rows import begin, end, marker, note, reply, status, user

from journal.callers import BUDGET, Caller, outcome_of, refusal_of
from journal.stores import Clock, SqliteStore
from journal.waiting import PATIENCE, gone
from transcript.v1.event_pb2 import Event
from transcript.v1.session_pb2 import Session
from transcript_server.journal.journal import Face
from transcript_server.journal.sqlite import SqliteJournal
from transcript_server.rules.errors import Refusal

IDLE = 600.0


class Full:
    """A caller of a store that can be filled and given room again."""

    def __init__(self, journal: SqliteJournal, clock: Clock) -> None:
        self.journal = journal
        self.clock = clock
        self.caller = Caller(journal)

    async def pages(self, more: int) -> None:
        """Lets the file grow by so many pages from now on; below 0 for as many as it likes."""
        await self.journal._writer.do(
            lambda connection, _: connection.pragma(
                "max_page_count", connection.pragma("page_count") + more if more >= 0 else 1 << 30
            )
        )

    async def fill(self) -> list[str]:
        """Appends until there is no room, even for little; the ids of the rows that were answered."""
        answered: list[str] = []
        for size in (20_000, 5_000, 500, 1):
            while True:
                row = reply("x" * size, id=f"filler {size} {len(answered)}")
                outcome = await outcome_of(self.caller.append("filler", row))
                if isinstance(outcome, Refusal):
                    assert outcome.reason_name == "STORE_FULL"
                    break
                answered.append(row.id)
        return answered


@pytest.fixture
async def full(store: SqliteStore, clock: Clock):
    """A store with a session and little room."""
    journal = await store.open(clock)
    full = Full(journal, clock)
    await full.caller.create("filler")
    await full.caller.create("s")
    await full.caller.append("s", user(id="a"), begin(idle=IDLE), marker("held"), reply())
    await full.pages(20)
    yield full
    await full.pages(-1)
    await store.close()


async def test_writes_are_refused_and_reads_go_on(full: Full) -> None:
    """What was answered is there, and nothing else; every read is as before."""
    before = await full.caller.everything()
    answered = await full.fill()
    assert answered
    assert [row.id for row in await full.caller.rows("filler")] == answered

    refusal = await refusal_of(full.caller.append("s", reply("y" * 500_000)))
    assert (refusal.reason_name, refusal.message) == (
        "STORE_FULL", "the store has no room; reads go on, retry later",
    )  # fmt: skip
    assert await full.caller.everything() == before
    assert sorted(await full.caller.listed()) == ["filler", "s"]
    place = await full.caller.place()
    tail = await full.journal.tail(full.caller.who, place, Face.JOURNAL, 0, BUDGET)
    assert (tail.tip, tail.rows.count) == (3, 3)


async def test_writing_works_again_once_there_is_room(full: Full) -> None:
    """The refused append, sent again with its ids, is recorded once."""
    await full.fill()
    large = [reply("y" * 500_000, id="large"), end()]
    for _ in range(3):
        assert (await refusal_of(full.caller.append("s", *large))).reason_name == "STORE_FULL"
    await full.pages(-1)

    assert [*(await full.caller.append("s", *large)).sequences] == [4, 5]
    assert [*(await full.caller.append("s", large[0])).sequences] == [4]
    kinds = [row.WhichOneof("payload") for row in await full.caller.rows()]
    assert kinds[3:] == ["assistant_message", "turn_ended", "section_marker"]


async def test_what_is_answered_is_there_whoever_writes_beside(full: Full) -> None:
    """Many writers meet the end of the room together."""
    answered: set[str] = set()

    async def write(writer: int) -> None:
        for number in range(30):
            event_id = f"{writer}.{number}"
            row = reply("x" * 3000 * (1 + writer), id=event_id)
            outcome = await outcome_of(full.caller.append("filler", row))
            if isinstance(outcome, Refusal):
                assert outcome.reason_name == "STORE_FULL"
            else:
                answered.add(event_id)

    await asyncio.gather(*map(write, range(6)))
    rows = await full.caller.rows("filler")
    assert {row.id for row in rows} == answered
    assert 0 < len(answered) < 180
    assert [row.sequence for row in rows] == [*range(1, len(rows) + 1)]


async def test_a_turn_past_its_deadline_is_read_though_its_end_cannot_be_written(full: Full) -> None:
    """Reads go on; once there is room, the sweep or a reader ends it, and the held row lands."""
    await full.fill()
    await full.pages(0)
    full.clock.forward(IDLE)
    assert [row.sequence for row in await full.caller.rows()][:3] == [1, 2, 3]
    assert (await full.caller.page())[0].latest_sequence >= 3
    assert sorted(await full.caller.listed()) == ["filler", "s"]
    await full.pages(-1)

    assert not (await full.caller.session()).running
    kinds = [row.WhichOneof("payload") for row in await full.caller.rows()]
    assert kinds == ["user_message", "turn_started", "assistant_message", "turn_ended", "section_marker"]


async def test_the_sweep_outlives_a_store_without_room(full: Full) -> None:
    """A turn whose end it could not write is ended when there is room, and so is the next one."""
    place = await full.caller.place()
    await full.pages(-1)
    await full.caller.append("s", *[note("x" * 30_000)] * 9)
    await full.pages(0)
    full.clock.forward(IDLE)
    tip = 3

    async def swept() -> None:
        nonlocal tip
        before = tip
        with full.journal.hub.watch(place.number, None) as watcher:
            while tip == before:
                await watcher.wait(0.05)
                tip = await full.journal._readers.do(
                    lambda connection: connection.execute(
                        "SELECT tip FROM head WHERE number = ?", (place.number,)
                    ).fetchone()[0]
                )

    with pytest.raises(TimeoutError):
        # Longer than the sweep takes to come by and be refused.
        async with asyncio.timeout(1.2):
            await swept()
    await full.pages(-1)
    async with asyncio.timeout(PATIENCE):
        await swept()
    assert tip == 14


async def test_a_fork_that_finds_no_room_leaves_nothing(full: Full, store: SqliteStore) -> None:
    """It is refused, and what it copied is taken away; with room it is made."""
    await full.pages(-1)
    await full.caller.fill("filler", status("x" * 500), 1500)
    await full.pages(60)
    last = max([(await full.caller.place(name)).number for name in ("filler", "s")])

    fork = full.journal.fork_session
    refusal = await refusal_of(fork(full.caller.who, "filler", 0, Session(id="copy")))
    assert refusal.reason_name == "STORE_FULL"
    assert sorted(await full.caller.listed()) == ["filler", "s"]
    await full.pages(-1)
    made = await fork(full.caller.who, "filler", 0, Session(id="copy"))
    assert len(await full.caller.rows("copy")) == made.latest_sequence
    live = (await full.caller.place("copy")).number
    for number in range(last + 1, live):
        await gone(store, number)


async def test_a_deletion_makes_room(full: Full) -> None:
    """It may be asked for in a full store, and what it frees is used again."""
    await full.fill()
    await full.pages(0)
    await full.caller.journal.delete_session(full.caller.who, "filler")
    assert await full.caller.listed() == ["s"]

    async def has_room() -> bool:
        return not isinstance(await outcome_of(full.caller.append("s", reply("z" * 20_000, id="z"))), Refusal)

    await eventually(has_room, PATIENCE)
    assert Event.FromString(await full.journal.event(full.caller.who, "s", 4)).assistant_message.text == "z" * 20_000
