"""The columns beside the stored bytes are an index: what they say follows from the rows, and is no second truth."""

from __future__ import annotations

import apsw
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from semantics.rows import (
    ask,
    begin,
    call,
    checkpoint,
    end,
    marker,
    note,
    nudge,
    replacing,
    reply,
    reset,
    respond,
    result,
    rewind,
    status,
    steering,
    summary,
    user,
)
from semantics.world import FACTOR

from journal.callers import Caller, outcome_of
from transcript.v1.event_pb2 import Event
from transcript.v1.session_pb2 import Session
from transcript_server.journal.journal import Place
from transcript_server.journal.sqlite import SqliteJournal
from transcript_server.rules.elision import page_form
from transcript_server.rules.turns import Flag, Turns, known_kind

EVENTS = st.sampled_from(
    [
        user(), user(id="a"), steering(), nudge(), reply(), reply("x" * 70_000), call(), result(), begin(), end(),
        marker("m"), marker("n", collapse=False), note(), reset(), ask("q"), respond("q"), status(), summary("k"),
        checkpoint(1, 2, "k"), reply("r", surface=replacing(1, 1)), rewind(1), rewind(0),
    ]
)  # fmt: skip
APPENDS = st.lists(st.tuples(st.lists(EVENTS, min_size=1, max_size=4), st.booleans()), max_size=15)


async def indexed(journal: SqliteJournal, place: Place) -> tuple[list[tuple], tuple]:
    """The rows with their columns, and the head."""

    def read(connection: apsw.Connection) -> tuple[list[tuple], tuple]:
        rows = connection.execute(
            "SELECT key, turn, flags, size, body, page_body FROM event WHERE key >> 32 = ? ORDER BY key",
            (place.number,),
        ).fetchall()
        head = connection.execute(
            "SELECT tip, turn, start, running, ended AND turn > 0, after_tool, declarable, prompted, messages "
            "FROM head WHERE number = ?", (place.number,)
        ).fetchone()  # fmt: skip
        return rows, head

    return await journal._readers.do(read)


async def check(journal: SqliteJournal, place: Place) -> None:
    """Derives everything from the rows' bytes again."""
    rows, head = await indexed(journal, place)
    turns, messages = Turns(), 0
    for sequence, (key, turn, flags, size, body, page_body) in enumerate(rows, start=1):
        event = Event.FromString(body)
        shown = page_form(event, len(body))
        landed = turns.land(event, known_kind(event), sequence)
        assert key == place.number << 32 | sequence
        assert event.sequence == sequence
        assert event.turn == turn == turns.turn
        assert Flag(flags) & ~Flag.STATED == landed
        assert page_body == (None if shown is None else shown.SerializeToString())
        assert size == len(body if page_body is None else page_body)
        messages += Flag.MESSAGE in landed
    # Before the first turn it makes no difference whether one has ended.
    turns.ended &= turns.turn > 0
    state = (turns.turn, turns.start, turns.running, turns.ended, turns.after_tool, turns.declarable, turns.prompted)
    assert head == (len(rows), *map(int, state), messages)


@settings(
    max_examples=12 * FACTOR,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(appends=APPENDS, through=st.integers(1, 40))
async def test_the_index_of_any_history_and_of_its_forks_follows_from_the_rows(
    indexed_store: SqliteJournal, appends: list[tuple[list[Event], bool]], through: int
) -> None:
    """Every column, and where turns stand after the last row."""
    caller = Caller(indexed_store)
    names = [f"{name}{len(await caller.listed())}" for name in ("s", "copy")]
    await caller.create(names[0])
    for events, as_recorded in appends:
        await outcome_of(caller.append(names[0], *events, as_recorded=as_recorded))
    await check(indexed_store, await caller.place(names[0]))
    tip = (await caller.session(names[0])).latest_sequence
    fork = indexed_store.fork_session
    await fork(caller.who, names[0], min(through, tip), Session(id=names[1]))
    await check(indexed_store, await caller.place(names[1]))
