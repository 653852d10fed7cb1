"""Rules 1 to 4 of any store: dense, in order, all or nothing, once; and as it was after opening anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from semantics.rows import ask, begin, call, end, marker, note, replacing, reply, respond, result, status, user

from transcript.v1.event_pb2 import Event
from transcript_server.journal.journal import Appended, Principal
from transcript_server.journal.lane import Lane, LaneClosed
from transcript_server.rules.errors import Refusal

from .callers import Caller, refusal_of
from .stores import Clock, Store

WRITERS, BATCHES = 8, 6


def at_us(row: Event) -> int:
    """When a row was recorded, in microseconds."""
    return row.recorded_at.seconds * 1_000_000 + row.recorded_at.nanos // 1000


async def test_rule_1_concurrent_appenders_give_one_dense_order(caller: Caller) -> None:
    """Each batch lies together and in its order, each writer's batches in theirs, and the answers say where."""
    await caller.create()
    answers: dict[str, int] = {}

    async def write(writer: int) -> None:
        for batch in range(BATCHES):
            size = 1 + (writer + batch) % 4
            events = [user(id=f"{writer}.{batch}.{place}") for place in range(size)]
            appended = await caller.append("s", *events)
            assert [*appended.sequences] == [*range(appended.sequences[0], appended.sequences[0] + size)]
            assert appended.latest_sequence >= appended.sequences[-1]
            answers.update(zip(appended.event_ids, appended.sequences, strict=True))

    await asyncio.gather(*map(write, range(WRITERS)))

    rows = await caller.rows()
    assert [row.sequence for row in rows] == [*range(1, len(rows) + 1)]
    assert {row.id: row.sequence for row in rows} == answers
    assert (await caller.session()).latest_sequence == len(rows) == len(answers)
    for writer in range(WRITERS):
        own = [row.id for row in rows if row.id.startswith(f"{writer}.")]
        assert own == sorted(own, key=lambda name: [*map(int, name.split("."))])


async def test_rule_1_every_session_counts_for_itself(caller: Caller) -> None:
    """Though their appends share the store's commits."""
    ids = [f"s{number}" for number in range(10)]
    await asyncio.gather(*map(caller.create, ids))
    await asyncio.gather(*[caller.append(session_id, user(session_id)) for session_id in ids * 5])

    for session_id in ids:
        rows = await caller.rows(session_id)
        assert [(row.sequence, row.user_message.text) for row in rows] == [(n, session_id) for n in range(1, 6)]


async def test_rule_1_recorded_at_never_goes_backwards_when_the_clock_does(caller: Caller, clock: Clock) -> None:
    """Nor after the store was opened anew; the rows' own times are the clock's."""
    await caller.create()
    times = []
    for seconds in (0, 10, -7200, 5, 7200):
        clock.forward(seconds)
        times.append(clock.now_us)
        await caller.append("s", status())
    recorded = [at_us(row) for row in await caller.rows()]

    assert recorded == [times[0], times[1], times[1], times[1], times[4]]
    assert [row.time.seconds for row in await caller.rows()] == [time // 1_000_000 for time in times]


async def test_rule_1_recorded_at_goes_on_from_the_last_row_after_opening_anew(
    store: Store, caller: Caller, clock: Clock
) -> None:
    """With a clock that was set back in between."""
    await caller.create()
    await caller.append("s", status())
    await store.close()
    clock.forward(-86400)
    again = Caller(await store.open(clock))
    await again.append("s", status())

    first, second = await again.rows()
    assert first.recorded_at == second.recorded_at
    assert second.time.seconds == clock.now_us // 1_000_000


async def test_rule_2_what_was_answered_is_there_after_opening_anew(store: Store, caller: Caller, clock: Clock) -> None:
    """Byte by byte, the journal's identity and the key of the hashes included."""
    await caller.create(title="kept", labels={"a": "b"})
    await caller.append(
        "s", user(id="a"), call(), result(), reply("x" * 100_000), ask(), marker("one"), begin(), note()
    )
    before, secret = await caller.everything(), caller.journal.secret
    await store.close()
    again = Caller(await store.open(clock))

    assert await again.everything() == before
    assert again.journal.secret == secret
    assert [*(await again.append("s", user(id="a"))).sequences] == [1]


def unanswerable(number: int) -> tuple[Event, str]:
    """A row that only the journal can see to be wrong, and why."""
    return [
        (respond("never asked"), "REQUEST_NOT_OPEN"),
        (user(surface=replacing(4, 9)), "BAD_SURFACE_RANGE"),
        (user(surface=replacing(2, 2)), "BAD_SURFACE_RANGE"),
        (status(id="known", text="other"), "EVENT_ID_REUSED"),
    ][number]


@pytest.mark.parametrize("wrong", range(4), ids=lambda number: unanswerable(number)[1])
@pytest.mark.parametrize("place", [0, 2, 4])
async def test_rule_2_a_batch_with_one_wrong_row_leaves_nothing(caller: Caller, wrong: int, place: int) -> None:
    """Wherever it stands: no row, no id, no request, no marker, nothing on the surface, nothing counted."""
    await caller.create()
    await caller.append("s", user(), call("c"), result("c"), status(id="known"), ask("q"))
    before = await caller.everything()
    row, reason = unanswerable(wrong)
    batch = [user(id="a"), marker("m", id="b"), ask("q2", id="c"), respond("q", id="d"), reply(id="e")]
    batch.insert(place, row)

    refusal = await refusal_of(caller.append("s", *batch))
    assert refusal.reason_name == reason
    assert await caller.everything() == before
    assert [*(await caller.append("s", status("else", id="a"), respond("q", id="b"))).sequences] == [6, 7]
    assert (await caller.page())[0].open_request_sequences == []


async def test_rule_2_an_eleventh_held_row_leaves_nothing_of_its_batch(caller: Caller) -> None:
    """Not the rows that would have landed at once, nor those that there was room for."""
    await caller.create()
    await caller.append("s", begin(), *[marker()] * 9)
    before = await caller.everything()

    refusal = await refusal_of(caller.append("s", reply(), marker(id="tenth"), note(id="eleventh")))
    assert (refusal.reason_name, refusal.metadata) == ("HELD_ROWS_FULL", {"limit": "10"})
    assert await caller.everything() == before
    assert [*(await caller.append("s", note("fits", id="tenth"))).sequences] == [0]


async def test_rule_2_appends_that_fail_take_nothing_of_those_beside_them(caller: Caller) -> None:
    """Many at once, every third one wrong."""
    await caller.create()

    async def write(number: int) -> Appended | Refusal:
        wrong = [respond("never asked")] if number % 3 == 0 else []
        try:
            return await caller.append("s", user(id=f"{number}"), *wrong)
        except Refusal as refusal:
            return refusal

    outcomes = await asyncio.gather(*map(write, range(60)))
    assert [isinstance(outcome, Refusal) for outcome in outcomes] == [number % 3 == 0 for number in range(60)]
    rows = await caller.rows()
    assert {row.id for row in rows} == {f"{number}" for number in range(60) if number % 3}
    assert [row.sequence for row in rows] == [*range(1, 41)]


async def test_rule_3_racing_equal_appends_give_one_row_and_equal_answers(caller: Caller) -> None:
    """Whoever comes first writes; who comes later is told the same."""
    await caller.create()
    events = [user(id="a"), reply(id="b"), status(id="c")]
    answers = await asyncio.gather(*[caller.append("s", *events) for _ in range(20)])

    assert {tuple(answer.sequences) for answer in answers} == {(1, 2, 3)}
    assert {tuple(answer.event_ids) for answer in answers} == {("a", "b", "c")}
    assert len(await caller.rows()) == 3


async def test_rule_3_racing_batches_that_overlap_write_each_row_once(caller: Caller) -> None:
    """Each answers for all of its rows, whoever wrote them."""
    await caller.create()

    async def write(start: int) -> Appended:
        return await caller.append("s", *[user(id=f"{number}") for number in range(start, start + 6)])

    answers = await asyncio.gather(*[write(start) for start in [0, 3, 6, 1, 4, 0, 3]])
    places = {row.id: row.sequence for row in await caller.rows()}
    assert places.keys() == {f"{number}" for number in range(12)}
    assert sorted(places.values()) == [*range(1, 13)]
    for answer in answers:
        assert [*answer.sequences] == [places[name] for name in answer.event_ids]


async def test_rule_3_of_racing_appends_with_one_id_and_other_content_one_wins(caller: Caller) -> None:
    """The others are refused, with nothing of theirs written."""
    await caller.create()
    outcomes = await asyncio.gather(
        *[caller.append("s", user(f"{number}", id="a"), status(id=f"{number}")) for number in range(10)],
        return_exceptions=True,
    )
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]

    assert {(refusal.reason_name, refusal.metadata["event_id"]) for refusal in refusals} == {("EVENT_ID_REUSED", "a")}
    assert len(refusals) == 9
    first, second = await caller.rows()
    assert first.user_message.text == second.id


async def test_rule_3_a_retry_of_a_row_that_is_held_is_answered_with_0_and_of_one_let_go_with_its_place(
    caller: Caller,
) -> None:
    """The answer is as things stand now."""
    await caller.create()
    await caller.append("s", begin())
    answers = await asyncio.gather(*[caller.append("s", marker("m", id="a")) for _ in range(5)])
    assert {tuple(answer.sequences) for answer in answers} == {(0,)}
    assert (await caller.session()).held_row_count == 1

    await caller.append("s", end())
    assert [*(await caller.append("s", marker("m", id="a"))).sequences] == [3]
    refusal = await refusal_of(caller.append("s", marker("other", id="a")))
    assert refusal.reason_name == "EVENT_ID_REUSED"


async def test_rule_3_a_rows_time_is_when_it_was_first_taken_held_or_not(caller: Caller, clock: Clock) -> None:
    """Not when it landed; and a retry that states that time is the same row."""
    await caller.create()
    await caller.append("s", begin())
    asked = clock.now_us
    await caller.append("s", marker("m", id="a"))
    clock.forward(60)
    await caller.append("s", end())

    row = (await caller.rows())[-1]
    assert row.time == Timestamp(seconds=asked // 1_000_000)
    assert at_us(row) == clock.now_us
    assert [*(await caller.append("s", marker("m", id="a", time=row.time))).sequences] == [3]
    late = Timestamp(seconds=row.time.seconds + 1)
    assert (await refusal_of(caller.append("s", marker("m", id="a", time=late)))).reason_name == "EVENT_ID_REUSED"


async def test_rule_3_the_server_never_answers_for_a_row_of_its_own(caller: Caller) -> None:
    """A TurnEnded that it wrote has an id too, which is nobody's to send again."""
    await caller.create()
    await caller.append("s", begin(), begin())
    written = (await caller.rows())[1]
    assert written.WhichOneof("payload") == "turn_ended"

    refusal = await refusal_of(caller.append("s", Event(id=written.id, turn_ended=written.turn_ended)))
    assert refusal.reason_name == "EVENT_ID_REUSED"


async def test_rule_3_ids_are_each_sessions_own(caller: Caller) -> None:
    """The same id elsewhere is another row."""
    await caller.create("s")
    await caller.create("t")

    assert [*(await caller.append("s", user("one", id="a"))).sequences] == [1]
    assert [*(await caller.append("t", user("two", id="a"))).sequences] == [1]


async def test_rule_4_of_racing_appends_that_expect_the_same_tip_one_wins(caller: Caller) -> None:
    """The others are told where the journal ends."""
    await caller.create()
    await caller.append("s", user())
    outcomes = await asyncio.gather(
        *[caller.append("s", status(f"{number}"), expected=1) for number in range(12)], return_exceptions=True
    )
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]

    assert {refusal.reason_name for refusal in refusals} == {"SEQUENCE_MISMATCH"}
    assert refusals[0].metadata == {"expected_latest_sequence": "1", "latest_sequence": "2"}
    assert len(refusals) == 11
    assert len(await caller.rows()) == 2


EXPECTING: list[tuple[str, Callable[[], list[Event]], int, str]] = [
    ("recorded already", lambda: [user(id="a")], 99, ""),
    ("recorded in part", lambda: [user(id="a"), user(id="new")], 99, "SEQUENCE_MISMATCH"),
    ("an id reused", lambda: [reply(id="a"), user()], 99, "EVENT_ID_REUSED"),
    ("behind", lambda: [user()], 0, "SEQUENCE_MISMATCH"),
    ("ahead", lambda: [user()], 2, "SEQUENCE_MISMATCH"),
    ("right", lambda: [user()], 1, ""),
]


@pytest.mark.parametrize(
    ("events", "expected", "reason"), [row[1:] for row in EXPECTING], ids=[r[0] for r in EXPECTING]
)
async def test_rule_4_ids_are_looked_at_before_the_expected_tip(
    caller: Caller, events: Callable[[], list[Event]], expected: int, reason: str
) -> None:
    """What is recorded already is answered whatever is expected."""
    await caller.create()
    await caller.append("s", user(id="a"))
    call = caller.append("s", *events(), expected=expected)
    if reason:
        assert (await refusal_of(call)).reason_name == reason
    else:
        await call


async def test_rule_4_an_empty_journal_is_expected_as_0(caller: Caller) -> None:
    """And what is held does not count."""
    await caller.create()
    await caller.append("s", begin(), expected=0)
    await caller.append("s", marker(), expected=1)

    assert (await caller.append("s", end(), expected=1)).latest_sequence == 3


async def test_appends_of_one_lane_are_carried_out_in_the_order_of_their_calls(caller: Caller) -> None:
    """Awaited or not: each expects the row of the one before it."""
    await caller.create()
    lane = Lane()
    asked = [
        asyncio.ensure_future(caller.append("s", status(f"{number}"), expected=number, lane=lane))
        for number in range(30)
    ]

    assert [[*appended.sequences] for appended in await asyncio.gather(*asked)] == [[n] for n in range(1, 31)]
    assert [row.status.text for row in await caller.rows()] == [f"{number}" for number in range(30)]


async def test_of_a_lane_nothing_is_taken_after_an_append_that_failed(caller: Caller) -> None:
    """Those before it stand, and an append outside the lane does not mind."""
    await caller.create()
    lane = Lane()
    asked = [
        asyncio.ensure_future(caller.append("s", respond("never asked") if number == 3 else user(), lane=lane))
        for number in range(6)
    ]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    await caller.append("s", status())

    assert [type(outcome) for outcome in outcomes] == [Appended] * 3 + [Refusal] + [LaneClosed] * 2
    assert len(await caller.rows()) == 4


async def test_what_was_asked_for_before_the_store_is_closed_is_finished(
    store: Store, caller: Caller, clock: Clock
) -> None:
    """And answered."""
    await caller.create()
    asked = [asyncio.ensure_future(caller.append("s", user(id=f"{number}"))) for number in range(20)]
    await asyncio.sleep(0)
    await store.close()
    answered = await asyncio.gather(*asked)
    again = Caller(await store.open(clock))

    assert [row.id for row in await again.rows()] == [name for appended in answered for name in appended.event_ids]


async def test_ids_are_minted_and_told(caller: Caller) -> None:
    """One for each row that came without, never the same."""
    await caller.create()
    appended = await caller.append("s", user(), user(id="own"), user())

    assert [row.id for row in await caller.rows()] == [*appended.event_ids]
    assert appended.event_ids[1] == "own"
    assert len({*appended.event_ids}) == 3


async def test_an_append_to_no_session_is_refused(caller: Caller) -> None:
    """And makes none."""
    refusal = await refusal_of(caller.append("s", user()))

    assert (refusal.reason_name, refusal.metadata) == ("SESSION_NOT_FOUND", {"session_id": "s"})
    assert await caller.listed() == []


async def test_a_session_of_the_same_id_and_another_owner_is_another_journal(caller: Caller, stranger: Caller) -> None:
    """Ids are unique for each owner."""
    mine, theirs = await caller.create(), await stranger.create()
    await caller.append("s", user("mine", id="a"))
    await stranger.append("s", user("theirs", id="a"))

    assert mine.journal_id != theirs.journal_id
    assert (mine.owner, theirs.owner) == (Principal("me"), Principal("somebody else"))
    assert [row.user_message.text for row in await caller.rows()] == ["mine"]
    assert [row.user_message.text for row in await stranger.rows()] == ["theirs"]
