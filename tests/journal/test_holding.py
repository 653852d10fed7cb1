"""Rules 9 and 10 of any store: what is held and what waits, at once, over time and after opening anew."""

from __future__ import annotations

import asyncio

import pytest
from semantics.rows import ask, begin, end, marker, note, nudge, reply, reset, respond, status, steering, user

from transcript_server.rules.errors import Refusal
from transcript_server.rules.limits import HELD_ROWS, OPEN_REQUESTS

from .callers import Caller, refusal_of
from .stores import Clock, Store


def kinds(rows: list) -> list[str]:
    """The rows' kinds."""
    return [str(row.WhichOneof("payload")) for row in rows]


async def test_rule_9_held_rows_outlive_opening_anew_and_land_in_order_of_asking(
    store: Store, caller: Caller, clock: Clock
) -> None:
    """Asked for before and after; the answers say 0 until then."""
    await caller.create()
    await caller.append("s", begin(), user())
    assert [*(await caller.append("s", marker("one", id="a"), reply())).sequences] == [0, 3]
    for round_number in range(3):
        await store.close()
        caller = Caller(await store.open(clock))
        assert (await caller.session()).held_row_count == round_number + 1
        await caller.append("s", note(f"{round_number}"))
    assert (await caller.session()).latest_sequence == 3

    await caller.append("s", end())
    rows = await caller.rows()
    assert kinds(rows[3:]) == ["turn_ended", "section_marker", "note", "note", "note"]
    assert [row.note.text for row in rows[5:]] == ["0", "1", "2"]
    assert {row.recorded_at.seconds for row in rows} == {clock.now_us // 1_000_000}
    assert (await caller.session()).held_row_count == 0


async def test_rule_9_of_eleven_racing_callers_ten_are_held(caller: Caller) -> None:
    """The eleventh is refused, whoever it is."""
    await caller.create()
    await caller.append("s", begin())
    outcomes = await asyncio.gather(
        *[caller.append("s", marker(f"{number}")) for number in range(HELD_ROWS + 1)], return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes].count(Refusal) == 1
    assert (await caller.session()).held_row_count == HELD_ROWS
    assert (await caller.append("s", end())).latest_sequence == 2 + HELD_ROWS
    await caller.append("s", begin(), *[note()] * HELD_ROWS)


async def test_rule_9_held_rows_land_in_the_append_that_ends_the_turn(caller: Caller) -> None:
    """No reader sees the end without them, nor them without the end."""
    await caller.create()
    await caller.append("s", begin(), marker("one"), reset())

    async def read() -> set[int]:
        return {len(await caller.rows()) for _ in range(20)}

    seen, _ = await asyncio.gather(read(), caller.append("s", end(), status()))
    assert seen <= {1, 5}
    assert kinds(await caller.rows())[1:] == ["turn_ended", "section_marker", "context_reset", "status"]


async def test_rule_9_held_rows_of_two_sessions_do_not_mix(caller: Caller) -> None:
    """Each turn lets go of its own."""
    for session_id in ("s", "t"):
        await caller.create(session_id)
        await caller.append(session_id, begin())
    for number in range(4):
        await caller.append("st"[number % 2], marker(f"{number}"))
    await caller.append("s", end())

    assert [row.section_marker.label for row in (await caller.rows("s"))[2:]] == ["0", "2"]
    assert (await caller.session("t")).held_row_count == 2


async def test_rule_10_a_session_counts_the_requests_that_wait(store: Store, caller: Caller, clock: Clock) -> None:
    """After opening anew as before."""
    await caller.create()
    await caller.append("s", user(), ask("one"), ask("two"), ask("three"))
    await caller.append("s", respond("two"))
    await store.close()
    caller = Caller(await store.open(clock))

    assert (await caller.session()).open_request_count == 2
    assert (await caller.page())[0].open_request_sequences == [2, 4]
    assert (await refusal_of(caller.append("s", respond("two")))).reason_name == "REQUEST_NOT_OPEN"


async def test_rule_10_of_racing_answers_one_wins(caller: Caller) -> None:
    """The others are told that another stands."""
    await caller.create()
    await caller.append("s", ask("q"))
    outcomes = await asyncio.gather(*[caller.append("s", respond("q")) for _ in range(10)], return_exceptions=True)
    refusals = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]

    assert {(refusal.reason_name, refusal.metadata["request_id"]) for refusal in refusals} == {
        ("REQUEST_NOT_OPEN", "q")
    }
    assert len(refusals) == 9
    assert len(await caller.rows()) == 2


async def test_rule_10_a_later_turns_prompt_retires_what_waits(caller: Caller) -> None:
    """Not a steering one, nor one of the same turn; a late answer is taken, once."""
    await caller.create()
    await caller.append("s", begin(), user(), ask("q"), steering(), nudge())
    assert (await caller.session()).open_request_count == 1

    await caller.append("s", end(), begin(), steering())
    assert (await caller.session()).open_request_count == 1
    await caller.append("s", nudge())
    assert (await caller.session()).open_request_count == 0

    assert [*(await caller.append("s", respond("q"))).sequences] == [10]
    assert (await refusal_of(caller.append("s", respond("q")))).reason_name == "REQUEST_NOT_OPEN"


async def test_rule_10_a_request_under_a_used_id_takes_the_earlier_ones_place(caller: Caller) -> None:
    """Whether that waits, was answered, or retired: one waits then, and one answer is taken."""
    await caller.create()
    await caller.append("s", user(), ask("q"), ask("q"))
    assert (await caller.page())[0].open_request_sequences == [3]
    await caller.append("s", respond("q"))
    assert (await refusal_of(caller.append("s", respond("q")))).reason_name == "REQUEST_NOT_OPEN"

    await caller.append("s", ask("q"))
    assert (await caller.page())[0].open_request_sequences == [5]
    await caller.append("s", user("another turn"), ask("q"))
    assert (await caller.page())[0].open_request_sequences == [7]


async def test_rule_10_which_requests_waited_is_known_as_of_any_row(caller: Caller) -> None:
    """As a reader was told then."""
    await caller.create()
    told: list[list[int]] = []
    for event in [user(), ask("a"), ask("b"), respond("a"), ask("b"), ask("c"), user(), ask("d"), respond("b")]:
        await caller.append("s", event)
        told.append([*(await caller.page())[0].open_request_sequences])

    assert told == [[], [2], [2, 3], [3], [5], [5, 6], [], [8], [8]]
    for sequence, then in enumerate(told, start=1):
        info, _ = await caller.page(as_of_sequence=sequence)
        assert [*info.open_request_sequences] == then


async def test_rule_19_a_page_names_the_latest_32_requests_that_wait(caller: Caller) -> None:
    """Oldest first; the session counts all."""
    await caller.create()
    await caller.append("s", *[ask(f"{number}") for number in range(40)])

    assert (await caller.page(page_size=1))[0].open_request_sequences == [*range(41 - OPEN_REQUESTS, 41)]
    assert (await caller.session()).open_request_count == 40


@pytest.mark.parametrize("as_recorded", [False, True])
async def test_rule_10_a_prompt_moves_last_prompt_at_as_recorded_or_as_stated(
    caller: Caller, clock: Clock, as_recorded: bool
) -> None:
    """To when it was recorded, or to the time that it states; markers and notes move nothing."""
    await caller.create()
    prompt = user()
    prompt.time.FromSeconds(1_000_000_000)
    await caller.append("s", prompt, as_recorded=as_recorded)
    moved = (await caller.session()).last_prompt_at.seconds
    clock.forward(60)
    await caller.append("s", marker(), note(), reply(), reset())

    assert moved == (1_000_000_000 if as_recorded else clock.now_us // 1_000_000 - 60)
    assert (await caller.session()).last_prompt_at.seconds == moved
