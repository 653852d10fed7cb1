"""Forks, deletion, and that nothing else removes a row (rules 31 and 32)."""

from __future__ import annotations

import asyncio

import grpc
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from transcript.v1 import (
    context_service_pb2,
    journal_service_pb2,
    session_service_pb2,
    transcript_service_pb2,
)
from transcript.v1.event_pb2 import TurnEnded
from transcript.v1.session_pb2 import SESSION_KIND_AUTOMATED, Session
from transcript.v1.session_service_pb2 import (
    DeleteSessionRequest,
    ForkSessionRequest,
    ListSessionsRequest,
    UpdateSessionRequest,
)

from . import surface, views
from .facts import kind
from .histories import long_enough
from .play import Player, compare_rows
from .rows import ask, begin, end, marker, note, reply, respond, status, user
from .wire import Wire, bytes_of, failure_of
from .world import World, examples


async def fork(wire: Wire, source: str, through: int = 0, **fields) -> Session:
    """A copy."""
    request = ForkSessionRequest(source_session_id=source, through_sequence=through, session=Session(**fields))
    return (await wire.sessions.ForkSession(request)).session


@examples(10)
@given(past=long_enough(3, 12), future=long_enough(1, 6), data=st.data())
def test_rule_31_a_fork_of_any_history_begins_with_its_rows_and_goes_on_alone(world: World, past, future, data):
    """At any row; rows to the byte, turns, requests, surface; then a fork of the fork."""

    async def play():
        wire = world.wire
        player = Player(wire, (await wire.create(world.new_id())).id)
        await player.play(past)
        await player.check_rows()
        for _ in range(2):
            through = data.draw(st.integers(0, player.model.tip))
            copied = through or player.model.tip
            session = await fork(wire, player.session_id, through, id=world.new_id())
            assert session.forked_from_session_id == player.session_id
            assert session.forked_from_sequence == copied
            model = player.model.fork(copied, player.session_id)
            rows = await wire.rows(session.id)
            assert bytes_of(rows[:copied]) == bytes_of(player.model.events(copied))
            compare_rows(rows, model)
            model.learn_rows(rows)
            maker = player.maker
            player = Player(wire, session.id, model)
            player.maker.count, player.maker.sent = maker.count, maker.sent
            await wire.expect_surface(session.id, [row.sequence for row in surface.fold(model.events())])
            for view in views.VIEWS:
                expected = views.read_page(model.events(), view)
                page = await wire.page(session.id, view=view)
                page.info.ClearField("journal_id")
                assert (bytes_of(page.rows), page.info) == (bytes_of(expected.rows), expected.info)
            await player.check_session()
            await player.play(future)
            await player.check_rows()
            await player.check_session()

    world.run(play())


async def test_rule_31_a_turn_that_was_running_is_ended_as_interrupted(wire: Wire):
    """In the copy; the source runs on and keeps its held rows."""
    await wire.create("s")
    await wire.append("s", user(), begin(), marker("held"), reply())
    session = await fork(wire, "s", id="t")
    rows = await wire.rows("t")
    assert [kind(row) for row in rows[3:]] == ["turn_ended", "session_forked"]
    assert rows[3].turn_ended.outcome == TurnEnded.OUTCOME_INTERRUPTED
    assert (rows[4].session_forked.session_id, rows[4].session_forked.sequence) == ("s", 3)
    assert rows[4].fallback
    assert (session.latest_sequence, session.running, session.held_row_count) == (5, False, 0)
    source = await wire.session("s")
    assert (source.latest_sequence, source.running, source.held_row_count) == (3, True, 1)
    await wire.append("s", end())
    assert len(await wire.rows("t")) == 5


async def test_rule_31_as_of_a_row_where_the_turn_was_running_it_is_ended_too(wire: Wire):
    """Though it has ended since; and where it was not running yet, nothing is ended."""
    await wire.create("s")
    await wire.append("s", user(), begin(), reply(), end(), status())
    await fork(wire, "s", 3, id="t")
    await fork(wire, "s", 1, id="u")
    await fork(wire, "s", 4, id="v")
    assert [kind(row) for row in (await wire.rows("t"))[3:]] == ["turn_ended", "session_forked"]
    assert [kind(row) for row in (await wire.rows("u"))[1:]] == ["session_forked"]
    assert [kind(row) for row in (await wire.rows("v"))[4:]] == ["session_forked"]


async def test_rule_31_a_fork_is_not_a_section_and_keeps_the_markers(wire: Wire):
    """The bar is as it was; no marker is inferred."""
    await wire.create("s")
    await wire.append("s", user(), reply(), end(), marker("second"), user(), reply())
    await fork(wire, "s", id="t")
    assert (await wire.page("t")).info.hidden_sections == (await wire.page("s")).info.hidden_sections
    assert [kind(row) for row in await wire.rows("t")].count("section_marker") == 1


async def test_rule_31_ids_are_kept_so_that_a_retry_on_the_copy_is_known(wire: Wire):
    """Of the rows that were copied; those of later rows and of held ones are free."""
    await wire.create("s")
    await wire.append("s", user(id="u"), reply(id="r"))
    await wire.append("s", begin(), note(id="h"))
    await fork(wire, "s", 1, id="t")
    assert (await wire.append("t", user(id="u"))).sequences == [1]
    assert (await wire.refused("t", status(id="u"))).reason == "EVENT_ID_REUSED"
    assert (await wire.append("t", status(id="r"), status(id="h"))).sequences == [3, 4]


async def test_rule_31_requests_that_waited_wait_in_the_copy(wire: Wire):
    """As of the row; an answer in one is none in the other."""
    await wire.create("s")
    await wire.append("s", user(), ask("a"), ask("b"), respond("a"))
    await fork(wire, "s", 3, id="t")
    assert (await wire.session("t")).open_request_count == 2
    await wire.append("t", respond("a"), respond("b"))
    assert (await wire.session("s")).open_request_count == 1
    await wire.append("s", respond("b"))


async def test_rule_31_a_copy_was_last_asked_what_its_rows_were_asked(wire: Wire):
    """As of the row; what was appended as recorded counts by its own time there too."""
    await wire.create("s")
    when = Timestamp(seconds=1_600_000_000)
    await wire.append("s", user(time=when), as_recorded=True)
    await wire.append("s", reply(), user())
    assert (await fork(wire, "s", 1, id="t")).last_prompt_at == when
    copy = await fork(wire, "s", id="u")
    assert copy.last_prompt_at == (await wire.session("s")).last_prompt_at


async def test_rule_31_beyond_the_tip_is_out_of_range(wire: Wire):
    """And no session is made."""
    await wire.create("s")
    await wire.append("s", user())
    failure = await failure_of(fork(wire, "s", 2, id="t"))
    assert (failure.code, failure.reason) == (grpc.StatusCode.OUT_OF_RANGE, "SEQUENCE_AHEAD")
    assert (await failure_of(wire.session("t"))).reason == "SESSION_NOT_FOUND"


async def test_rule_31_the_same_fork_again_is_the_first_copy(wire: Wire):
    """The same id and fields; with other fields the session exists."""
    await wire.create("s", title="title", kind=SESSION_KIND_AUTOMATED)
    await wire.append("s", user(), reply())
    first = await fork(wire, "s", 1, id="t")
    assert (first.title, first.kind) == ("title", SESSION_KIND_AUTOMATED)
    await wire.append("t", user())
    again = await fork(wire, "s", 1, id="t")
    assert (again.journal_id, again.latest_sequence) == (first.journal_id, 3)
    for other in (fork(wire, "s", 2, id="t"), fork(wire, "s", 1, id="t", title="other"), fork(wire, "s", 1, id="s")):
        failure = await failure_of(other)
        assert (failure.code, failure.reason) == (grpc.StatusCode.ALREADY_EXISTS, "SESSION_EXISTS")


async def test_rule_31_a_long_session_is_forked_whole_while_others_write(wire: Wire):
    """A reader sees the copy whole or not at all, and no other writer waits for it."""
    await wire.create("s")
    await wire.create("other")
    for _ in range(5):
        await wire.append("s", *(status(f"{n}") for n in range(1000)))
    forking = asyncio.ensure_future(fork(wire, "s", id="t"))
    written = 0
    while not forking.done():
        await wire.append("other", status())
        written += 1
        try:
            assert (await wire.session("t")).latest_sequence == 5001
        except grpc.aio.AioRpcError as error:
            assert error.code() == grpc.StatusCode.NOT_FOUND  # noqa: PT017 - seen whole or not at all
    assert (await forking).latest_sequence == 5001
    assert written
    assert len(await wire.rows("t", after=4000)) == 1001


async def test_rule_31_a_deleted_session_is_gone_from_the_first_moment(wire: Wire):
    """For every RPC, also while its rows are still being removed; its id may be used again."""
    await wire.create("s")
    for part in range(3):
        await wire.append("s", *(status(f"{n}", id=f"{part} {n}") for n in range(1000)))
    old = (await wire.session("s")).journal_id
    await wire.sessions.DeleteSession(DeleteSessionRequest(session_id="s"))
    for call in (wire.session("s"), wire.append("s", user()), wire.page("s"), wire.rows("s")):
        failure = await failure_of(call)
        assert (failure.code, failure.reason) == (grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND")
    failure = await failure_of(wire.sessions.DeleteSession(DeleteSessionRequest(session_id="s")))
    assert failure.reason == "SESSION_NOT_FOUND"
    assert not (await wire.sessions.ListSessions(ListSessionsRequest())).sessions
    new = await wire.create("s")
    assert new.journal_id != old
    assert (new.latest_sequence, new.message_count) == (0, 0)
    assert (await wire.append("s", user(id="0 0"))).sequences == [1]
    assert len(await wire.rows("s")) == 1


async def test_rule_31_a_fork_outlives_its_source(wire: Wire):
    """It shares nothing with it."""
    await wire.create("s")
    await wire.append("s", user(), reply())
    await fork(wire, "s", id="t")
    await wire.sessions.DeleteSession(DeleteSessionRequest(session_id="s"))
    assert len(await wire.rows("t")) == 3
    assert (await wire.session("t")).forked_from_session_id == "s"


def test_rule_32_no_rpc_removes_or_changes_a_single_row():
    """The services' methods, pinned: whoever adds one thinks of this rule."""
    files = (session_service_pb2, journal_service_pb2, transcript_service_pb2, context_service_pb2)
    methods = {
        method.name
        for file in files
        for service in file.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    changing = {name for name in methods if not name.startswith(("Get", "List", "Read", "Search", "Watch"))}
    assert changing == {
        "CreateSession",
        "UpdateSession",
        "DeleteSession",
        "ForkSession",
        "AppendEvents",
        "StreamAppendEvents",
        "AddSectionMarker",
        "AddNote",
        "ResetContext",
        "PublishLive",
    }


@examples(6)
@given(past=long_enough(2, 10), future=long_enough(2, 10))
def test_rule_32_rows_once_written_stay_as_they_are(world: World, past, future):
    """Whatever comes after them."""

    async def play():
        wire = world.wire
        player = Player(wire, (await wire.create(world.new_id())).id)
        await player.play(past)
        before = bytes_of(await wire.rows(player.session_id))
        await player.play(future)
        await wire.sessions.UpdateSession(UpdateSessionRequest(session=Session(id=player.session_id, title="t")))
        await fork(wire, player.session_id)
        after = bytes_of(await wire.rows(player.session_id))
        assert after[: len(before)] == before

    world.run(play())
