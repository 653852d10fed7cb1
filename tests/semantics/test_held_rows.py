"""Rows that wait for a turn's end, and requests that wait for a person (rules 9 and 10)."""

from __future__ import annotations

import asyncio
import itertools

import grpc.aio
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from transcript.v1.journal_service_pb2 import AddNoteRequest, AddSectionMarkerRequest, ResetContextRequest
from transcript_server.app import Serving

from .facts import kind
from .rows import (
    LOG_ONLY,
    ask,
    begin,
    end,
    marker,
    note,
    nudge,
    replacing,
    reply,
    reset,
    respond,
    status,
    steering,
    user,
)
from .wire import Wire, failure_of, taken_apart


def by_rpc(wire: Wire, name: str):
    """The call that brings a row of this kind by its own RPC."""
    return {
        "section_marker": lambda: wire.journal.AddSectionMarker(AddSectionMarkerRequest(session_id="s", label="m")),
        "note": lambda: wire.journal.AddNote(AddNoteRequest(session_id="s", note=note().note)),
        "context_reset": lambda: wire.journal.ResetContext(ResetContextRequest(session_id="s", reason="r")),
    }[name]()


@pytest.mark.parametrize("order", list(itertools.permutations(["section_marker", "note", "context_reset"])))
@pytest.mark.parametrize("own_rpc", [True, False])
async def test_rule_9_held_rows_land_right_after_the_turns_end_in_order_of_asking(wire: Wire, order, own_rpc):
    """Whichever RPC brought them."""
    await wire.create("s")
    await wire.append("s", user(), begin())
    rows = {"section_marker": marker(), "note": note(), "context_reset": reset()}
    for number, name in enumerate(order, 1):
        if own_rpc:
            answer = await by_rpc(wire, name)
            assert (answer.sequence, answer.held) == (0, True)
            assert answer.event_id
        else:
            answer = await wire.append("s", rows[name])
            assert (answer.sequences, answer.latest_sequence) == ([0], 2)
        assert (await wire.session("s")).held_row_count == number
    assert (await wire.append("s", reply(), end(), status())).sequences == [3, 4, 8]
    landed = await wire.rows("s")
    assert [kind(row) for row in landed] == ["user_message", "turn_started", "assistant_message", "turn_ended", *order,
                                             "status"]  # fmt: skip
    assert {row.turn for row in landed} == {1}
    assert (await wire.session("s")).held_row_count == 0


async def test_rule_9_outside_a_declared_turn_nothing_is_held(wire: Wire):
    """Before, between, and in a turn that nobody declared."""
    await wire.create("s")
    assert (await wire.append("s", marker(), user(), note(), reply(), reset())).sequences == [1, 2, 3, 4, 5]
    answer = await by_rpc(wire, "section_marker")
    assert (answer.sequence, answer.held) == (6, False)


async def test_rule_9_the_eleventh_is_refused_and_its_whole_batch_with_it(wire: Wire):
    """By any RPC; what is not of a held kind goes on."""
    await wire.create("s")
    await wire.append("s", user(), begin(), *(note(f"{n}") for n in range(5)))
    for _ in range(2):
        await by_rpc(wire, "section_marker")
        await by_rpc(wire, "context_reset")
    failure = await wire.refused("s", reply(), note("tenth", id="n10"), note("eleventh", id="n11"))
    assert (failure.code, failure.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "HELD_ROWS_FULL")
    assert failure.metadata["limit"] == "10"
    session = await wire.session("s")
    assert (session.latest_sequence, session.held_row_count) == (2, 9)
    await wire.append("s", note("tenth", id="n10"))
    for name in ("section_marker", "note", "context_reset"):
        assert (await failure_of(by_rpc(wire, name))).reason == "HELD_ROWS_FULL"
    assert (await wire.append("s", note("tenth", id="n10"))).sequences == [0]
    assert (await wire.append("s", reply())).sequences == [3]
    assert (await wire.append("s", end())).latest_sequence == 14
    assert (await wire.append("s", note("eleventh", id="n11"))).sequences == [15]


async def test_rule_9_eleven_racing_callers_leave_ten_rows(wire: Wire):
    """The count is kept inside the writing transaction."""
    await wire.create("s")
    await wire.append("s", user(), begin())
    outcomes = await asyncio.gather(*(wire.append("s", note(f"{n}")) for n in range(15)), return_exceptions=True)
    assert sum(isinstance(outcome, grpc.aio.AioRpcError) for outcome in outcomes) == 5
    assert (await wire.session("s")).held_row_count == 10
    await wire.append("s", end())
    assert len(await wire.rows("s")) == 13


async def test_rule_9_the_limit_is_for_one_turn(wire: Wire):
    """After the turn's end there is room again."""
    await wire.create("s")
    for _ in range(2):
        await wire.append("s", begin(), *(note() for _ in range(10)))
        await wire.append("s", end())
    assert (await wire.session("s")).latest_sequence == 24


async def test_rule_9_neither_a_replacement_nor_an_as_recorded_row_is_held(wire: Wire):
    """A log-only note is."""
    await wire.create("s")
    await wire.append("s", user(), begin())
    assert (await wire.append("s", note(surface=replacing(1, 1)))).sequences == [3]
    assert (await wire.append("s", marker(), note(), reset(), as_recorded=True)).sequences == [4, 5, 6]
    assert (await wire.append("s", note(surface=LOG_ONLY))).sequences == [0]
    session = await wire.session("s")
    assert (session.running, session.held_row_count, session.latest_sequence) == (True, 1, 6)


async def test_rule_9_an_as_recorded_append_still_interrupts_and_lets_go(wire: Wire):
    """Nothing else differs for it."""
    await wire.create("s")
    await wire.append("s", user(), begin(), note())
    assert (await wire.append("s", user(), begin(), marker(), as_recorded=True)).sequences == [5, 6, 7]
    assert [kind(row) for row in (await wire.rows("s"))[2:4]] == ["turn_ended", "note"]
    assert (await wire.refused("s", respond("never"), as_recorded=True)).reason == "REQUEST_NOT_OPEN"


async def test_rule_9_held_rows_show_nowhere_until_they_land(wire: Wire):
    """Neither on a page nor on the model's surface."""
    await wire.create("s")
    await wire.append("s", user(), begin(), note(), marker())
    assert len((await wire.page("s", view=3)).rows) == 2
    await wire.expect_surface("s", [1])
    await wire.append("s", end())
    await wire.expect_surface("s", [1, 4])


async def test_rule_9_a_held_row_is_not_yet_recorded(wire: Wire):
    """`last_recorded_at` is when the latest row was recorded; a held row is none yet."""
    await wire.create("s")
    await wire.append("s", user(), begin())
    for _ in range(2):
        await wire.append("s", note())
        assert (await wire.session("s")).last_recorded_at == (await wire.rows("s"))[-1].recorded_at
    await wire.append("s", end())
    assert (await wire.session("s")).last_recorded_at == (await wire.rows("s"))[-1].recorded_at


async def test_rule_10_only_prompts_move_last_prompt_at(wire: Wire):
    """To their recorded_at; held kinds, replies, requests and replacements leave it alone."""
    await wire.create("s")
    assert not (await wire.session("s")).HasField("last_prompt_at")
    await wire.append("s", marker(), note(), reply(), ask(), status())
    assert not (await wire.session("s")).HasField("last_prompt_at")
    for number, prompt in enumerate((user(time=Timestamp(seconds=5)), steering(), nudge()), 6):
        await wire.append("s", prompt)
        moved = (await wire.session("s")).last_prompt_at
        assert moved == (await wire.rows("s"))[number - 1].recorded_at
    await wire.append("s", user("copy", surface=replacing(6, 6)), reply(), marker())
    assert (await wire.session("s")).last_prompt_at == moved


async def test_rule_10_a_prompt_appended_as_recorded_moves_it_to_its_time(wire: Wire):
    """It was asked when it says that it was."""
    await wire.create("s")
    when = Timestamp(seconds=1_600_000_000, nanos=1)
    await wire.append("s", user(time=when), as_recorded=True)
    assert (await wire.session("s")).last_prompt_at == when


async def open_requests(wire: Wire) -> list[int]:
    """The rows of the requests that wait."""
    waiting = list((await wire.page("s")).info.open_request_sequences)
    assert (await wire.session("s")).open_request_count == len(waiting)
    return waiting


async def test_rule_10_a_request_is_open_until_its_response(wire: Wire):
    """A second response, and one to a request never made, is refused and not written."""
    await wire.create("s")
    await wire.append("s", user(), ask("a"), ask("b"))
    assert await open_requests(wire) == [2, 3]
    await wire.append("s", respond("a"))
    assert await open_requests(wire) == [3]
    for request_id in ("a", "c"):
        failure = await wire.refused("s", status(), respond(request_id))
        assert (failure.code, failure.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "REQUEST_NOT_OPEN")
        assert failure.metadata["request_id"] == request_id
    assert (await wire.session("s")).latest_sequence == 4


async def test_rule_10_of_racing_answers_one_wins(wire: Wire):
    """Ten people press the button."""
    await wire.create("s")
    await wire.append("s", user(), ask())
    outcomes = await asyncio.gather(
        *(wire.append("s", respond(), status(f"{n}")) for n in range(10)), return_exceptions=True
    )
    assert sum(not isinstance(outcome, BaseException) for outcome in outcomes) == 1
    assert (await wire.session("s")).latest_sequence == 4


async def test_rule_10_two_clients_answer_at_once_two_hundred_times(wire: Wire, server: Serving):
    """Each over a connection of its own: one wins each time, and the other is told so; watchers see the one answer."""
    await wire.create("s")
    async with grpc.aio.insecure_channel(server.address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        clients = (wire, Wire(channel))
        for number in range(200):
            await wire.append("s", user(), ask(f"q{number}"))
            answers = [respond(f"q{number}", id=f"{number} by {client}") for client in range(2)]
            outcomes = await asyncio.gather(
                *(client.append("s", answer) for client, answer in zip(clients, answers, strict=True)),
                return_exceptions=True,
            )
            won = [not isinstance(outcome, BaseException) for outcome in outcomes]
            assert sum(won) == 1
            assert taken_apart(outcomes[won.index(False)]).reason == "REQUEST_NOT_OPEN"
            answered = [row for row in await wire.rows("s", after=3 * number) if kind(row) == "human_response"]
            assert [row.id for row in answered] == [answers[won.index(True)].id]
            # The winner's retry is its first answer; the loser's is refused again.
            assert (await clients[won.index(True)].append("s", answers[won.index(True)])).sequences == [3 * number + 3]
            assert (
                await clients[won.index(False)].refused("s", answers[won.index(False)])
            ).reason == "REQUEST_NOT_OPEN"
    assert await open_requests(wire) == []


async def test_rule_10_the_first_prompt_of_a_later_turn_retires_a_request(wire: Wire):
    """Not a STEERING one, not a marker, not the turn's start; and a late response is still accepted, once."""
    await wire.create("s")
    await wire.append("s", user(), ask(), reply())
    await wire.append("s", steering(), marker(), note(), reset())
    await wire.append("s", begin(), steering())
    assert (await wire.session("s")).latest_turn == 2
    assert await open_requests(wire) == [2]
    rows = (await wire.session("s")).latest_sequence
    await wire.append("s", user())
    assert await open_requests(wire) == []
    assert (await wire.session("s")).latest_sequence == rows + 1
    await wire.append("s", respond())
    assert (await wire.refused("s", respond())).reason == "REQUEST_NOT_OPEN"


async def test_rule_10_a_prompt_of_the_same_turn_retires_nothing(wire: Wire):
    """In a declared turn a person may well speak before answering."""
    await wire.create("s")
    await wire.append("s", user(), begin(), ask(), user(), nudge())
    assert await open_requests(wire) == [3]


async def test_rule_10_a_request_under_a_used_id_takes_the_earlier_ones_place(wire: Wire):
    """Whether that one waits, was answered or was retired."""
    await wire.create("s")
    await wire.append("s", user(), ask(), ask())
    assert await open_requests(wire) == [3]
    await wire.append("s", respond(), ask())
    assert await open_requests(wire) == [5]
    await wire.append("s", end(), user())
    assert await open_requests(wire) == []
    await wire.append("s", ask())
    assert await open_requests(wire) == [8]
    await wire.append("s", respond())
    assert (await wire.refused("s", respond())).reason == "REQUEST_NOT_OPEN"
