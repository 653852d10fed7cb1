"""Rule 8's deadline in any store: it is stored, and whoever comes after it ends the turn first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from semantics.rows import ask, begin, end, marker, note, reply, respond, status, user

from transcript.v1.event_pb2 import Event, TurnEnded
from transcript.v1.session_pb2 import Session
from transcript.v1.transcript_service_pb2 import VIEW_JOURNAL
from transcript_server.journal.journal import Face, Place, SessionFilter, Span
from transcript_server.rules.pages import page_request

from .callers import BUDGET, Caller, events_of, refusal_of
from .stores import HOUR, Clock, Store

IDLE = 600.0


@pytest.fixture
async def idle(caller: Caller) -> Caller:
    """A session whose turn may be idle for ten minutes, with a row held."""
    await caller.create()
    await caller.append("s", begin(idle=IDLE), user("go"))
    await caller.append("s", marker("held"))
    return caller


def kinds(rows: list[Event]) -> list[str]:
    """The rows' kinds."""
    return [str(row.WhichOneof("payload")) for row in rows]


INTERRUPTED = ["turn_started", "user_message", "turn_ended", "section_marker"]


async def page(caller: Caller, _: Place) -> int:
    """The tip that a page tells."""
    return (await caller.journal.page(caller.who, "s", page_request(view=VIEW_JOURNAL), BUDGET)).info.latest_sequence


async def located(caller: Caller, _: Place) -> int:
    """The tip that a watcher begins at."""
    return (await caller.journal.locate(caller.who, "s"))[1]


async def tailed(caller: Caller, place: Place) -> int:
    """The tip that a watcher is at."""
    return (await caller.journal.tail(caller.who, place, Face.JOURNAL, 0, BUDGET)).tip


async def listed(caller: Caller, _: Place) -> int:
    """The tip that the list tells."""
    (session,), _ = await caller.journal.sessions(caller.who, SessionFilter(), 10, None)
    return session.latest_sequence


async def numbered(caller: Caller, place: Place) -> int:
    """The tip that a watcher of all sessions is told."""
    (session,) = await caller.journal.sessions_by_number(caller.who, [place.number])
    return session.latest_sequence if session else -1


async def touched(caller: Caller, _: Place) -> int:
    """The tip after live text was published, which came too late for the turn."""
    await caller.journal.touch(caller.who, "s")
    return (await caller.session()).latest_sequence


async def changed(caller: Caller, _: Place) -> int:
    """The tip that a change of the session's title tells."""
    session = Session(id="s", title="t")
    return (await caller.journal.update_session(caller.who, session, frozenset({"title"}))).latest_sequence


async def state(caller: Caller, _: Place) -> int:
    """The tip that the session's state tells."""
    return (await caller.session()).latest_sequence


async def forked(caller: Caller, _: Place) -> int:
    """The last row that a fork of everything copied."""
    return (await caller.journal.fork_session(caller.who, "s", 0, Session(id="copy"))).forked_from_sequence


async def read_event(caller: Caller, _: Place) -> int:
    """The row that lands last."""
    return Event.FromString(await caller.journal.event(caller.who, "s", 4)).sequence


async def contents(caller: Caller, _: Place) -> int:
    """The last row of the last section."""
    sections, _ = await caller.journal.sections(caller.who, "s", -1, 10)
    return sections[-1].last_sequence


READERS: list[Callable[[Caller, Place], Awaitable[int]]] = [
    page, located, tailed, listed, numbered, touched, changed, state, forked, read_event, contents,
]  # fmt: skip


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
async def test_rule_8_a_reader_who_comes_after_the_deadline_interrupts_first(
    idle: Caller, clock: Clock, read: Callable[[Caller, Place], Awaitable[int]]
) -> None:
    """Whatever it asks for: the turn is ended, and what was held has landed, before it is answered."""
    place = await idle.place()
    clock.forward(IDLE)

    assert await read(idle, place) == 4
    rows = await idle.rows()
    assert kinds(rows) == INTERRUPTED
    assert rows[2].turn_ended.outcome == TurnEnded.OUTCOME_INTERRUPTED
    session = await idle.session()
    assert (session.running, session.held_row_count) == (False, 0)


async def test_rule_8_a_writer_who_comes_after_the_deadline_interrupts_first(idle: Caller, clock: Clock) -> None:
    """Its own rows come after, and a held kind among them is held by nothing."""
    clock.forward(IDLE)
    appended = await idle.append("s", note("late"), user())

    assert [*appended.sequences] == [5, 6]
    assert kinds(await idle.rows()) == [*INTERRUPTED, "note", "user_message"]


async def test_rule_8_a_writer_whose_rows_are_all_recorded_finds_the_turn_ended(idle: Caller, clock: Clock) -> None:
    """A retry is answered as things stand now: the held row has landed."""
    await idle.append("s", marker("m", id="a"))
    clock.forward(IDLE)

    assert (await idle.append("s", marker("m", id="a"))).sequences == [5]
    assert kinds(await idle.rows()) == [*INTERRUPTED, "section_marker"]


async def test_rule_8_what_a_writer_expects_is_the_tip_before_the_interruption(idle: Caller, clock: Clock) -> None:
    """Rule 4: before any row of the call, those that the server writes for it included."""
    clock.forward(IDLE)
    assert [*(await idle.append("s", status(), expected=2)).sequences] == [5]


async def test_rule_8_a_refused_writer_interrupts_nothing_by_itself(idle: Caller, clock: Clock) -> None:
    """All or nothing; the turn is ended all the same once somebody sees it."""
    clock.forward(IDLE)
    assert (await refusal_of(idle.append("s", respond("never asked")))).reason_name == "REQUEST_NOT_OPEN"
    assert await idle.append("s", status())

    assert kinds(await idle.rows()) == [*INTERRUPTED, "status"]


async def test_rule_8_the_sweep_ends_a_turn_that_nobody_asks_for(idle: Caller, clock: Clock) -> None:
    """And wakes who watches."""
    place = await idle.place()
    with idle.journal.hub.watch(place.number, None) as watcher:
        clock.forward(IDLE)
        assert await watcher.wait(20)

    rows = await idle.journal.rows(idle.who, place, [Span(Face.JOURNAL, 1, 99)], BUDGET)
    assert kinds(events_of(rows)) == INTERRUPTED


async def test_rule_8_a_turn_is_ended_once_whoever_comes(idle: Caller, clock: Clock) -> None:
    """Readers, writers and the sweep at the same time."""
    clock.forward(IDLE)
    await asyncio.gather(*[idle.session() for _ in range(10)], *[idle.append("s", status()) for _ in range(5)])

    assert kinds(await idle.rows()) == [*INTERRUPTED, *["status"] * 5]


async def test_rule_8_up_to_the_deadline_the_turn_runs(idle: Caller, clock: Clock) -> None:
    """To the microsecond."""
    clock.forward(IDLE - 0.000_001)
    assert (await idle.session()).running
    clock.forward(0.000_001)
    assert not (await idle.session()).running


@pytest.mark.parametrize("event", [reply(), status(), note("held too")], ids=["reply", "status", "held"])
async def test_rule_8_what_is_written_puts_the_deadline_off(idle: Caller, clock: Clock, event: Event) -> None:
    """A held row counts."""
    clock.forward(IDLE - 1)
    await idle.append("s", event)
    clock.forward(IDLE - 1)
    assert (await idle.session()).running
    clock.forward(1)
    assert not (await idle.session()).running


async def test_rule_8_what_is_refused_or_repeated_puts_nothing_off(idle: Caller, clock: Clock) -> None:
    """Nothing of it is written; nor does a reader put it off."""
    await idle.append("s", status(id="a"))
    clock.forward(IDLE - 1)
    await idle.append("s", status(id="a"))
    await refusal_of(idle.append("s", respond("never asked")))
    await idle.session()
    clock.forward(1)

    assert not (await idle.session()).running


async def test_rule_8_published_text_puts_the_deadline_off(idle: Caller, clock: Clock) -> None:
    """By the idle timeout at least, and by no more than a fifth beyond; it is no row."""
    for _ in range(5):
        clock.forward(IDLE - 1)
        place = await idle.journal.touch(idle.who, "s")
    assert place == await idle.place()
    clock.forward(IDLE - 1)
    assert (await idle.session()).running
    clock.forward(IDLE * 0.2)
    assert not (await idle.session()).running
    assert kinds(await idle.rows()) == INTERRUPTED


async def test_rule_8_text_published_at_any_pace_keeps_the_turn(idle: Caller, clock: Clock) -> None:
    """However often, and however much of it costs no write."""
    for seconds in [0.001] * 30 + [1] * 10 + [IDLE / 2] * 4:
        clock.forward(seconds)
        await idle.journal.touch(idle.who, "s")
        assert (await idle.session()).running
    clock.forward(IDLE - 0.001)
    assert (await idle.session()).running


async def test_rule_8_text_published_where_no_turn_runs_changes_nothing(caller: Caller, clock: Clock) -> None:
    """And where there is no session it is refused."""
    await caller.create()
    await caller.append("s", user())
    before = await caller.everything()
    await caller.journal.touch(caller.who, "s")
    clock.forward(10 * HOUR)

    assert await caller.everything() == before
    assert (await refusal_of(caller.journal.touch(caller.who, "t"))).reason_name == "SESSION_NOT_FOUND"


async def test_rule_8_while_a_request_of_the_turn_waits_the_turn_is_not_idle(idle: Caller, clock: Clock) -> None:
    """However long; after its answer the time runs again. Published text changes nothing of it."""
    await idle.append("s", ask("q"))
    clock.forward(100 * IDLE)
    await idle.journal.touch(idle.who, "s")
    clock.forward(100 * IDLE)
    assert (await idle.session()).running

    await idle.append("s", respond("q"))
    clock.forward(IDLE - 1)
    assert (await idle.session()).running
    clock.forward(1)
    assert not (await idle.session()).running


async def test_rule_8_a_request_of_an_earlier_turn_keeps_nothing(caller: Caller, clock: Clock) -> None:
    """Only one of this turn does."""
    await caller.create()
    await caller.append("s", user(), ask("q"), begin(idle=IDLE))
    await caller.append("s", end(), begin(idle=IDLE))
    assert (await caller.session()).open_request_count == 1
    clock.forward(IDLE)

    assert not (await caller.session()).running


async def test_rule_8_the_deadline_is_stored(store: Store, idle: Caller, clock: Clock) -> None:
    """A server that was away in the meantime ends the turn when it comes back."""
    await store.close()
    clock.forward(IDLE - 1)
    again = Caller(await store.open(clock))
    assert (await again.session()).running
    await store.close()
    clock.forward(1)
    again = Caller(await store.open(clock))

    assert not (await again.session()).running
    assert kinds(await again.rows()) == INTERRUPTED


async def test_rule_8_a_turn_that_does_not_say_has_the_servers_timeout(store: Store, clock: Clock) -> None:
    """Absent, or 0."""
    caller = Caller(await store.open(clock, idle_timeout_seconds=42))
    for name, event in {"a": begin(), "b": begin(idle=0)}.items():
        await caller.create(name)
        await caller.append(name, event)
        clock.forward(41)
        assert (await caller.session(name)).running
        clock.forward(1)
        assert not (await caller.session(name)).running


async def test_rule_8_the_latest_turn_started_says_how_long(caller: Caller, clock: Clock) -> None:
    """Each turn has a timeout of its own."""
    await caller.create()
    await caller.append("s", begin(idle=IDLE), begin(idle=1))
    clock.forward(1)
    assert not (await caller.session()).running

    await caller.append("s", begin(idle=0.5))
    clock.forward(0.4)
    assert (await caller.session()).running
    clock.forward(0.1)
    assert not (await caller.session()).running


async def test_rule_8_a_clock_that_goes_back_ends_nothing(idle: Caller, clock: Clock) -> None:
    """The turn runs until the time has come again."""
    clock.forward(-10 * IDLE)
    await idle.append("s", status())
    clock.forward(IDLE - 1)

    assert (await idle.session()).running
