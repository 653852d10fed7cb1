"""The journal: order, durability's answer, ids, intake (rules 1 to 6)."""

from __future__ import annotations

import asyncio

import grpc
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given

from transcript.v1.event_pb2 import Event, SectionMarker
from transcript.v1.journal_service_pb2 import (
    AddNoteRequest,
    AddSectionMarkerRequest,
    AppendEventsRequest,
    ResetContextRequest,
    StreamAppendEventsRequest,
)

from .facts import KINDS, has_text_of_its_own, kind
from .histories import histories
from .play import Player
from .rows import APPEND, LOG_ONLY, begin, call, end, marker, note, replacing, reply, reset, respond, status, user
from .wire import Wire, bytes_of, failure_of
from .world import World, examples


@examples(40)
@given(steps=histories(most=24))
def test_rules_1_to_10_any_history_is_answered_and_kept_as_the_model_says(world: World, steps):
    """Rules 1, 3, 4, 7, 8, 9, 10, 18, 23, 26: answers, errors, rows, turns and the session's state."""

    async def play():
        player = Player(world.wire, (await world.wire.create(world.new_id())).id)
        await player.play(steps)
        await player.check_rows()
        await player.check_session()

    world.run(play())


async def test_rule_1_sequences_are_dense_over_racing_writers(wire: Wire):
    """Twenty writers at once: 1, 2, 3 … without gaps, each batch in one piece and in its order."""
    await wire.create("s")
    answers = await asyncio.gather(*(wire.append("s", user(f"{n}"), reply(f"{n}")) for n in range(20)))
    rows = await wire.rows("s")
    assert [row.sequence for row in rows] == list(range(1, 41))
    assert sorted(sequence for answer in answers for sequence in answer.sequences) == list(range(1, 41))
    for number, answer in enumerate(answers):
        first, second = answer.sequences
        assert second == first + 1
        assert [row.user_message.text or row.assistant_message.text for row in rows[first - 1 : second]] == [
            str(number)
        ] * 2


async def test_rule_1_time_orders_nothing_and_recorded_at_never_goes_back(wire: Wire):
    """Rows that say that they happened ever earlier stay in the order of appending."""
    await wire.create("s")
    for year in range(5):
        await wire.append("s", user(f"{year}", time=Timestamp(seconds=1_000_000_000 - year)))
    rows = await wire.rows("s")
    assert [row.user_message.text for row in rows] == ["0", "1", "2", "3", "4"]
    recorded = [row.recorded_at.ToNanoseconds() for row in rows]
    assert recorded == sorted(recorded)
    assert rows[0].time == Timestamp(seconds=1_000_000_000)


async def test_rule_2_an_append_is_all_or_nothing(wire: Wire):
    """The last row is refused in the last check of all: nothing of the batch is there."""
    await wire.create("s")
    await wire.append("s", user(), call("c1"), end())
    failure = await wire.refused("s", user("new", id="new"), begin(), note(id="held"), respond("never asked"))
    assert failure.reason == "REQUEST_NOT_OPEN"
    session = await wire.session("s")
    assert (session.latest_sequence, session.held_row_count, session.running, session.latest_turn) == (3, 0, False, 1)
    assert (await wire.append("s", status(id="new"), reply(id="held"))).sequences == [4, 5]


async def test_rule_3_a_retry_is_answered_with_the_first_sequence_and_writes_nothing(wire: Wire):
    """Alone or among new rows, held or not; minted ids count as well."""
    await wire.create("s")
    first = await wire.append("s", user(id="u"), reply())
    minted = first.event_ids[1]
    again = await wire.append("s", user(id="u"))
    assert (again.sequences, again.latest_sequence, again.event_ids) == ([1], 2, ["u"])
    mixed = await wire.append("s", reply(id=minted), user(id="u"), status(id="n"))
    assert (mixed.sequences, mixed.latest_sequence) == ([2, 1, 3], 3)
    await wire.append("s", begin(), note(id="h"))
    held = await wire.append("s", note(id="h"))
    assert (held.sequences, held.latest_sequence) == ([0], 4)
    assert (await wire.append("s", end())).latest_sequence == 6
    assert (await wire.append("s", note(id="h"))).sequences == [6]


async def test_rule_3_other_content_under_a_used_id_is_refused(wire: Wire):
    """A held row's id is used too."""
    await wire.create("s")
    await wire.append("s", user(id="u"), begin(), note(id="h"))
    for other in (user("other", id="u"), status(id="u"), note("other", id="h")):
        failure = await wire.refused("s", status(), other)
        assert (failure.code, failure.reason) == (grpc.StatusCode.ALREADY_EXISTS, "EVENT_ID_REUSED")
        assert failure.metadata["event_id"] == other.id
    assert (await wire.session("s")).latest_sequence == 2


async def test_rule_3_a_default_left_out_and_the_same_default_written_differ(wire: Wire):
    """Content is the row as sent."""
    await wire.create("s")
    await wire.append("s", user(id="u"), marker("m", id="m"), status(id="s"))
    for written in (user(id="u", surface=APPEND), marker("m", True, id="m"), status(id="s", surface=LOG_ONLY)):
        assert (await wire.refused("s", written)).reason == "EVENT_ID_REUSED"
    await wire.append("s", user(id="v", surface=APPEND))
    assert (await wire.append("s", user(id="v", surface=APPEND))).sequences == [4]
    assert (await wire.refused("s", user(id="v"))).reason == "EVENT_ID_REUSED"


async def test_rule_3_time_is_unset_or_equal_in_a_retry(wire: Wire):
    """It is not content, but a retry may not contradict it; nor the time that the server gave."""
    await wire.create("s")
    when = Timestamp(seconds=1_700_000_000, nanos=5)
    await wire.append("s", user(id="u", time=when), user(id="v"))
    assert (await wire.append("s", user(id="u"))).sequences == [1]
    assert (await wire.append("s", user(id="u", time=when))).sequences == [1]
    assert (await wire.refused("s", user(id="u", time=Timestamp(seconds=1)))).reason == "EVENT_ID_REUSED"
    given = (await wire.rows("s"))[1].time
    assert (await wire.append("s", user(id="v", time=given))).sequences == [2]
    assert (await wire.refused("s", user(id="v", time=when))).reason == "EVENT_ID_REUSED"


async def test_rule_3_a_rows_time_is_when_the_server_first_took_it_held_or_not(wire: Wire):
    """A held row lands later than it was taken."""
    await wire.create("s")
    await wire.append("s", user(), begin(), note(id="h"))
    taken = (await wire.append("s", status())).latest_sequence
    await wire.append("s", end())
    rows = await wire.rows("s")
    held, between, ended = rows[4], rows[taken - 1], rows[3]
    assert kind(held) == "note"
    assert held.time.ToNanoseconds() <= between.recorded_at.ToNanoseconds()
    assert held.recorded_at.ToNanoseconds() >= ended.recorded_at.ToNanoseconds()
    assert (await wire.append("s", note(id="h", time=held.time))).sequences == [5]


async def test_rule_3_racing_equal_appends_give_one_row_and_equal_answers(wire: Wire):
    """Twenty at once, and another twenty in which every second says something else."""
    await wire.create("s")
    answers = await asyncio.gather(*(wire.append("s", user(id="u"), reply(id="r")) for _ in range(20)))
    assert {tuple(answer.sequences) for answer in answers} == {(1, 2)}
    assert len(await wire.rows("s")) == 2
    outcomes = await asyncio.gather(
        *(wire.append("s", user(f"{n % 2}", id="x")) for n in range(20)), return_exceptions=True
    )
    taken = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, grpc.aio.AioRpcError)]
    assert (len(taken), len(refused)) == (10, 10)
    assert {error.code() for error in refused} == {grpc.StatusCode.ALREADY_EXISTS}
    assert len(await wire.rows("s")) == 3


async def test_rule_3_one_id_is_one_row_whichever_rpc_brings_it(wire: Wire):
    """The marker, the note and the reset of the RPCs are those of AppendEvents."""
    await wire.create("s")
    await wire.append("s", marker("m", source="w", id="m"), note(id="n"), reset(id="r"))
    journal = wire.journal
    request = AddSectionMarkerRequest(session_id="s", label="m", source="w", event_id="m")
    assert (await journal.AddSectionMarker(request)).sequence == 1
    assert (await journal.AddNote(AddNoteRequest(session_id="s", note=note().note, event_id="n"))).sequence == 2
    answer = await journal.ResetContext(ResetContextRequest(session_id="s", reason="start afresh", event_id="r"))
    assert answer.sequence == 3
    assert (await wire.session("s")).latest_sequence == 3


async def test_rule_3_ids_are_the_sessions_own(wire: Wire):
    """Another session may use the same id for something else."""
    await wire.create("s")
    await wire.create("t")
    await wire.append("s", user(id="u"))
    assert (await wire.append("t", status(id="u"))).sequences == [1]


async def test_rule_4_a_recorded_batch_is_answered_before_the_expected_sequence_is_looked_at(wire: Wire):
    """A retry of a conditional append that went through is told so."""
    await wire.create("s")
    batch = (user(id="u"), reply(id="r"))
    await wire.append("s", *batch, expected_latest_sequence=0)
    answer = await wire.append("s", *batch, expected_latest_sequence=0)
    assert (answer.sequences, answer.latest_sequence) == ([1, 2], 2)
    failure = await wire.refused("s", *batch, status(), expected_latest_sequence=0)
    assert (failure.code, failure.reason) == (grpc.StatusCode.ABORTED, "SEQUENCE_MISMATCH")
    assert failure.metadata == {"expected_latest_sequence": "0", "latest_sequence": "2"}
    assert (await wire.append("s", *batch, status(), expected_latest_sequence=2)).sequences == [1, 2, 3]


async def test_rule_4_the_expected_sequence_is_held_against_the_tip_before_any_row_of_the_call(wire: Wire):
    """The interruption that the call itself causes does not count."""
    await wire.create("s")
    await wire.append("s", user(), begin(), marker("held"))
    answer = await wire.append("s", user("next"), begin(), expected_latest_sequence=2)
    assert (answer.sequences, answer.latest_sequence) == ([5, 6], 6)
    assert (await wire.refused("s", begin(), expected_latest_sequence=5)).reason == "SEQUENCE_MISMATCH"
    assert (await wire.session("s")).latest_sequence == 6


async def test_rule_4_a_reused_id_is_told_before_the_expected_sequence(wire: Wire):
    """(a) comes before (b), and (0) before both."""
    await wire.create("s")
    await wire.append("s", user(id="u"))
    failure = await wire.refused("s", status(id="u"), reply(), expected_latest_sequence=9)
    assert failure.reason == "EVENT_ID_REUSED"
    failure = await wire.refused("s", status(id="u"), Event(), expected_latest_sequence=9)
    assert failure.reason == "UNKNOWN_KIND"


async def test_rule_4_an_id_twice_in_a_batch_counts_as_two_appends(wire: Wire):
    """Equal: one row, told twice; unequal: refused. Held and let go in one batch: told where it landed."""
    await wire.create("s")
    assert (await wire.append("s", user(id="u"), user(id="u"), reply())).sequences == [1, 1, 2]
    assert (await wire.refused("s", status(id="x"), reply(id="x"))).reason == "EVENT_ID_REUSED"
    # The first of the two is not recorded yet: what is expected is looked at before them.
    failure = await wire.refused("s", status(id="x"), reply(id="x"), expected_latest_sequence=9)
    assert failure.reason == "SEQUENCE_MISMATCH"
    answer = await wire.append("s", begin(), note(id="n"), end(), note(id="n"))
    assert (answer.sequences, answer.latest_sequence) == ([3, 5, 4, 5], 5)


async def test_rule_4_of_rows_set_aside_none_counts_as_following(wire: Wire):
    """A recorded row between a prompt and its TurnStarted does not part them."""
    await wire.create("s")
    await wire.append("s", user(), begin(), status(id="known"))
    answer = await wire.append("s", user("next"), status(id="known"), begin())
    assert answer.sequences == [5, 3, 6]
    rows = await wire.rows("s")
    assert [row.turn for row in rows] == [1, 1, 1, 1, 2, 2]
    assert kind(rows[3]) == "turn_ended"


async def test_rule_5_output_only_fields_are_refused(wire: Wire):
    """Each by its path, and nothing is written."""
    await wire.create("s")
    await wire.append("s", user())
    rows = {
        "sequence": user(sequence=1),
        "recorded_at": user(recorded_at=Timestamp(seconds=1)),
        "turn": user(turn=1),
        "fallback": status(fallback="—"),
        "elided_bytes": user(elided_bytes=1),
        "summary_sequence": Event(surface=replacing(1, 1)),
    }
    rows["summary_sequence"].compaction_checkpoint.summary_sequence = 1
    for name, row in rows.items():
        failure = await wire.refused("s", status(), row)
        assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"), name
        assert any(name in field and "events[1]" in field for field in failure.violations), failure
    assert (await wire.session("s")).latest_sequence == 1


async def test_rule_5_a_page_size_above_the_limit_counts_as_the_limit(wire: Wire):
    """It is not refused."""
    await wire.create("s")
    await wire.append("s", *(status(f"{n}") for n in range(1000)))
    await wire.append("s", status("one more"))
    assert len((await wire.page("s", view=3, page_size=1001)).rows) == 1000
    assert len((await wire.page("s", view=3, page_size=2**31 - 1)).rows) == 1000


async def test_rule_6_a_row_without_a_known_kind_is_refused_whatever_else_it_has(wire: Wire):
    """UNKNOWN_KIND and not UNKNOWN_FIELD: the writer is newer than the server."""
    await wire.create("s")
    newer = b"\xa2\x06\x03abc"  # field 100, as a kind that came later would be
    for row in (Event(), Event(id="x"), Event.FromString(newer), Event.FromString(newer + b"\xc0\x3e\x01")):
        failure = await wire.refused("s", status(), row)
        assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "UNKNOWN_KIND")
    assert (await wire.session("s")).latest_sequence == 0


async def test_rule_6_the_server_writes_a_fallback_for_kinds_without_text_of_their_own(wire: Wire):
    """One row of every kind that can be appended alone."""
    await wire.create("s")
    for name in KINDS:
        if name in {"compaction_checkpoint", "human_response", "session_forked"}:
            continue
        event = Event()
        getattr(event, name).SetInParent()
        if name == "human_request":
            event.human_request.request_id = "q"
        await wire.append("s", event)
    await wire.append("s", end())
    for row in await wire.rows("s"):
        assert bool(row.fallback) == (not has_text_of_its_own(kind(row))), row


async def test_rule_6_a_markers_fallback_names_its_label(wire: Wire):
    """`— Section: <label> —`, or `— Section —`."""
    await wire.create("s")
    await wire.append("s", marker("first"), marker())
    assert [row.fallback for row in await wire.rows("s")] == ["— Section: first —", "— Section —"]


async def test_rule_9_and_11_the_row_is_the_same_whichever_rpc_brought_it(wire: Wire):
    """But for its id and its times."""
    await wire.create("s")
    await wire.append("s", marker("m", source="w"), note(), reset())
    journal = wire.journal
    await journal.AddSectionMarker(AddSectionMarkerRequest(session_id="s", label="m", source="w"))
    await journal.AddNote(AddNoteRequest(session_id="s", note=note().note))
    await journal.ResetContext(ResetContextRequest(session_id="s", reason="start afresh"))
    rows = await wire.rows("s")
    for row in rows:
        for name in ("id", "time", "recorded_at", "sequence"):
            row.ClearField(name)
    assert bytes_of(rows[:3]) == bytes_of(rows[3:])
    assert rows[0].section_marker == SectionMarker(label="m", source="w", collapse_earlier=True)


async def test_a_stream_of_appends_is_answered_in_order_and_ends_with_the_batch_that_fails(wire: Wire):
    """StreamAppendEvents: the same as AppendEvents, to any sessions."""
    await wire.create("s")
    await wire.create("t")
    batches = [("s", user(id="u")), ("t", user()), ("s", reply()), ("s", user(id="u")), ("s", Event()), ("t", reply())]
    requests = [
        StreamAppendEventsRequest(append=AppendEventsRequest(session_id=session_id, events=[row]))
        for session_id, row in batches
    ]
    answers: list[list[int]] = []

    async def listen():
        stream = wire.journal.StreamAppendEvents(iter(requests))
        while (answer := await stream.read()) is not grpc.aio.EOF:
            answers.append(list(answer.append.sequences))

    failure = await failure_of(listen())
    assert answers == [[1], [1], [2], [1]]
    assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "UNKNOWN_KIND")
    assert (await wire.session("t")).latest_sequence == 1
