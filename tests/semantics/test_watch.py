"""Watching: live equals replay (rules 27 to 30)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript.v1.event_pb2 import Event
from transcript.v1.journal_service_pb2 import PublishLiveRequest
from transcript.v1.live_pb2 import LiveUpdate
from transcript.v1.session_service_pb2 import DeleteSessionRequest
from transcript.v1.transcript_service_pb2 import VIEW_COMPACT, VIEW_FULL, VIEW_JOURNAL, HiddenSections, WatchRequest

from . import views
from .facts import facts, kind
from .histories import long_enough
from .oracle import Journal
from .play import Player
from .polling import eventually
from .rows import begin, call, checkpoint, end, marker, note, replacing, reply, status, user
from .served import served
from .watching import Watcher, watch
from .wire import TRANSCRIPT, Wire, bytes_of, failure_of
from .world import World, examples


async def stacked(play: Callable[[AsyncExitStack], Awaitable[None]]) -> None:
    """Plays, and ends every watch that was begun."""
    async with AsyncExitStack() as stack:
        await play(stack)


def tail(model: Journal, view: int, after: int) -> list[Event]:
    """What a watcher of this view must be sent of the rows after one: compact gets what full gets."""
    rows = model.events()
    shown = rows if view == VIEW_JOURNAL else [served(row, view) for row in views.human(rows)]
    return [row for row in shown if row.sequence > after]


def bar_of(model: Journal, as_of: int, view: int, expand: bool) -> HiddenSections | None:
    """The reader's bar as of a row."""
    return None if expand or view == VIEW_JOURNAL else views.hidden_sections(model.events(as_of))


def is_honest(watcher: Watcher, model: Journal, view: int, since: int) -> None:
    """Each caught_up came after the rows that it speaks of."""
    due = [row.sequence for row in tail(model, view, since)]
    sent = [number for number in watcher.numbers if number > since]
    for latest, count in watcher.caught_up:
        had = {number for number in watcher.numbers[:count] if number > since}
        assert had >= {number for number in due if number <= latest}
    assert sent == due


restarts = st.sampled_from([False] * 3 + [True])


@examples(200, thorough=2000)
@given(parts=st.lists(long_enough(1, 8), min_size=2, max_size=3), size=st.integers(0, 4), restarts=restarts)
def test_rule_27_live_equals_replay(world: World, parts, size, restarts):
    """For any history, all views, expanded or not, restarts between: the rows from the watcher's first on, and the bar.

    Held after every part, so as of several rows of each history; the rows by then as of that row, too.
    """

    async def play(stack: AsyncExitStack):
        player = Player(world.wire, (await world.wire.create(world.new_id())).id)
        model, session_id = player.model, player.session_id
        await player.play(parts[0])
        opened = model.tip
        kinds = [(view, expand) for view in views.VIEWS for expand in (False, True)]
        watchers = [
            await stack.enter_async_context(
                watch(world.wire, session_id, view=view, expand_sections=expand, page_size=size)
            )
            for view, expand in kinds
        ]
        for watcher in watchers:
            await watcher.reaches(opened)
        for part in parts[1:]:
            if restarts:
                await world.restart()
                player.wire = world.wire
                for watcher in watchers:
                    await watcher.resume(world.wire)
            await player.play(part)
            await player.check_rows()
            for watcher, (view, expand) in zip(watchers, kinds, strict=True):
                await watcher.reaches(model.tip)
                assert watcher.page.latest_sequence == opened
                assert watcher.pages == 1
                has_what_a_reader_is_given(watcher, model, view)
                is_honest(watcher, model, view, opened)
                assert watcher.bar == bar_of(model, model.tip, view, expand)
                if expand or view == VIEW_JOURNAL:
                    assert watcher.bars_sent == 0

    world.run(stacked(play))


def has_what_a_reader_is_given(watcher: Watcher, model: Journal, view: int) -> None:
    """From its first row on: full and journal exactly, compact the kept rows exactly."""
    first = watcher.numbers[0] if watcher.rows else 0
    replay = [row for row in views.view_of(model.events(), view) if row.sequence >= first and watcher.rows]
    if view == VIEW_COMPACT:
        kept = [row for row in watcher.rows if facts(row).kept]
        assert bytes_of(kept) == bytes_of(row for row in replay if facts(row).kept)
    else:
        assert bytes_of(watcher.rows) == bytes_of(replay)


@examples(10)
@given(past=long_enough(2, 12), future=long_enough(1, 5), data=st.data())
def test_rule_28_a_watch_resumed_after_any_row_gives_exactly_the_rows_after_it(world: World, past, future, data):
    """Once, in order, without a page, with the bar if it differs from that as of the row; then what lands."""

    async def play(stack: AsyncExitStack):
        wire = world.wire
        player = Player(wire, (await wire.create(world.new_id())).id)
        model = player.model
        await player.play(past)
        await player.check_rows()
        tip = model.tip
        starts = [(data.draw(st.integers(0, tip)), view, expand) for view in views.VIEWS for expand in (False, True)]
        watchers = []
        for after, view, expand in starts:
            request = watch(
                wire,
                player.session_id,
                bar_of(model, after, view, expand),
                view=view,
                expand_sections=expand,
                after_sequence=after,
            )
            watchers.append(await stack.enter_async_context(request))
        for watcher in watchers:
            await watcher.reaches(tip)
        await player.play(future)
        await player.check_rows()
        for watcher, (after, view, expand) in zip(watchers, starts, strict=True):
            await watcher.reaches(model.tip)
            assert watcher.page is None
            assert bytes_of(watcher.rows) == bytes_of(tail(model, view, after))
            is_honest(watcher, model, view, after)
            assert watcher.bar == bar_of(model, model.tip, view, expand)

    world.run(stacked(play))


async def test_rule_28_a_small_page_its_rows_and_caught_up_fit_one_message(wire: Wire):
    """With the session's state: a viewer draws once."""
    await wire.create("s", title="t")
    await wire.append("s", user(), reply())
    async with watch(wire, "s") as watcher:
        first = await watcher.next()
        assert first.page.latest_sequence == 2
        assert [row.sequence for row in first.events.events] == [1, 2]
        assert first.caught_up.latest_sequence == 2
        assert [session.id for session in first.sessions] == ["s"]
        assert first.page.journal_id == first.sessions[0].journal_id


async def test_rule_28_an_empty_session_is_caught_up_with_at_once(wire: Wire):
    """And its first row comes."""
    await wire.create("s")
    async with watch(wire, "s") as watcher:
        await watcher.until(lambda: watcher.caught_up)
        assert watcher.caught_up == [(0, 0)]
        await wire.append("s", user())
        await watcher.reaches(1)
        assert watcher.numbers == [1]


@pytest.mark.thorough
async def test_rule_28_caught_up_comes_at_least_every_15_seconds(wire: Wire):
    """On an empty session too."""
    await wire.create("s")
    async with watch(wire, "s") as watcher:
        await watcher.until(lambda: watcher.caught_up)
        loop = asyncio.get_running_loop()
        for _ in range(2):
            before, count = loop.time(), len(watcher.caught_up)
            await watcher.until(lambda count=count: len(watcher.caught_up) > count, patience=20)
            assert loop.time() - before < 16


async def test_rule_28_the_sessions_state_comes_first_and_on_every_change(wire: Wire):
    """A held row changes it, though no row lands."""
    await wire.create("s")
    async with watch(wire, "s") as watcher:
        await watcher.until(lambda: watcher.sessions)
        assert len(watcher.messages) == 1
        await wire.append("s", user(), begin())
        await watcher.until(lambda: watcher.sessions[-1].running)
        assert watcher.sessions[-1].latest_turn == 1
        await wire.append("s", note())
        await watcher.until(lambda: watcher.sessions[-1].held_row_count == 1)
        await wire.append("s", end())
        await watcher.until(lambda: not watcher.sessions[-1].running and watcher.sessions[-1].held_row_count == 0)
        await watcher.reaches(4)
        assert watcher.sessions[-1] == await wire.session("s")


async def test_rule_28_replacements_reach_journal_watchers_alone(wire: Wire):
    """Missing numbers are replacements; the others are told that they are at the tip."""
    await wire.create("s")
    await wire.append("s", user(), call())
    async with (
        watch(wire, "s", view=VIEW_COMPACT) as compact,
        watch(wire, "s", view=VIEW_FULL) as full,
        watch(wire, "s", view=VIEW_JOURNAL) as journal,
    ):
        for watcher in (compact, full, journal):
            await watcher.reaches(2)
        await wire.append("s", user("copy", surface=replacing(1, 1)))
        for watcher in (compact, full, journal):
            await watcher.reaches(3)
        await wire.append("s", checkpoint(3, 3), status())
        for watcher in (compact, full, journal):
            await watcher.reaches(5)
        assert compact.numbers == full.numbers == [1, 2, 4, 5]
        assert journal.numbers == [1, 2, 3, 4, 5]
        assert [row.compaction_checkpoint.text for row in (full.rows[2], journal.rows[3])] == ["", "for the model"]


async def test_rule_28_the_bar_comes_when_the_collapsing_marker_moves(wire: Wire):
    """Not when a marker lands, but when the next turn makes it the collapsing one, and before its caught_up."""
    await wire.create("s")
    await wire.append("s", user(), reply(), end())
    async with watch(wire, "s") as watcher, watch(wire, "s", expand_sections=True) as expanded:
        await watcher.reaches(3)
        await wire.append("s", marker("m"))
        await watcher.reaches(4)
        assert (watcher.bar, watcher.bars_sent) == (None, 0)
        await wire.append("s", user())
        await watcher.reaches(5)
        assert watcher.bar == HiddenSections(count=1, labels=[""], marker_sequence=4)
        await wire.append("s", reply(), end(), marker("n"), user())
        await watcher.reaches(9)
        assert watcher.bar == HiddenSections(count=2, labels=["", "m"], marker_sequence=8)
        await expanded.reaches(9)
        assert (expanded.bar, expanded.bars_sent) == (None, 0)


async def test_rule_28_a_resumed_watcher_is_told_the_bar_only_if_it_moved_since(wire: Wire):
    """As of row 5 it was there already; as of row 3 it was not."""
    await wire.create("s")
    await wire.append("s", user(), reply(), end(), marker("m"), user())
    async with watch(wire, "s", after_sequence=5) as same, watch(wire, "s", after_sequence=3) as other:
        await same.reaches(5)
        await other.reaches(5)
    assert same.bars_sent == 0
    assert other.bar == HiddenSections(count=1, labels=[""], marker_sequence=4)


async def test_rule_8_a_watcher_sees_the_interruption_though_nobody_asks(wire: Wire):
    """The sweep comes after the deadline; the held row lands with it."""
    await wire.create("s")
    async with watch(wire, "s") as watcher:
        await wire.append("s", user(), begin(idle=0.2), note())
        await watcher.reaches(4)
        assert [kind(row) for row in watcher.rows[2:]] == ["turn_ended", "note"]
        await watcher.until(lambda: not watcher.sessions[-1].running)


async def test_rule_28_a_deleted_session_is_told_and_the_watch_ends(wire: Wire):
    """`deleted`, then NOT_FOUND."""
    await wire.create("s")
    await wire.append("s", user())
    async with watch(wire, "s") as watcher:
        await watcher.reaches(1)
        await wire.sessions.DeleteSession(DeleteSessionRequest(session_id="s"))

        async def to_the_end() -> None:
            await watcher.until(lambda: False)

        failure = await failure_of(to_the_end())
    assert (failure.code, failure.reason) == (grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND")
    assert watcher.sessions[-1].deleted
    assert watcher.sessions[-1].id == "s"


async def test_rule_28_another_journal_under_the_same_id_is_told_at_once(wire: Wire):
    """A watcher that resumes names the journal that it knows."""
    first = await wire.create("s")
    await wire.append("s", user(), reply())
    await wire.sessions.DeleteSession(DeleteSessionRequest(session_id="s"))
    second = await wire.create("s")
    assert first.journal_id != second.journal_id
    await wire.append("s", user(), reply())
    request = WatchRequest(session_id="s", after_sequence=1, journal_id=first.journal_id)
    failure = await failure_of(wire.raw_stream(TRANSCRIPT + "Watch", request))
    assert (failure.code, failure.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "JOURNAL_CHANGED")
    assert failure.metadata == {"journal_id": second.journal_id}
    async with watch(wire, "s", after_sequence=1, journal_id=second.journal_id) as watcher:
        await watcher.reaches(2)
        assert watcher.numbers == [2]


async def test_rule_28_resuming_beyond_the_tip_is_out_of_range(wire: Wire):
    """A row that was never written cannot be known."""
    await wire.create("s")
    await wire.append("s", user())
    request = WatchRequest(session_id="s", after_sequence=2)
    failure = await failure_of(wire.raw_stream(TRANSCRIPT + "Watch", request))
    assert (failure.code, failure.reason) == (grpc.StatusCode.OUT_OF_RANGE, "SEQUENCE_AHEAD")


async def test_rule_28_the_callers_sessions_come_if_asked_for(wire: Wire):
    """The latest prompted first, and then those that change; with no session watched at all."""
    for session_id in ("a", "b", "c"):
        await wire.create(session_id)
    for session_id in ("c", "a"):
        await wire.append(session_id, user())
    async with watch(wire, "", include_sessions=True) as watcher:
        await watcher.until(lambda: len(watcher.sessions) == 3)
        assert [session.id for session in watcher.sessions] == ["a", "c", "b"]
        await wire.append("b", user())
        await watcher.until(lambda: watcher.sessions[-1].id == "b" and watcher.sessions[-1].latest_sequence == 1)
        await wire.create("d")
        await watcher.until(lambda: watcher.sessions[-1].id == "d")
        await wire.sessions.DeleteSession(DeleteSessionRequest(session_id="a"))
        await watcher.until(lambda: watcher.sessions[-1].id == "a" and watcher.sessions[-1].deleted)
    assert not watcher.rows


async def test_rule_29_too_far_behind_a_page_comes_instead(wire: Wire):
    """Said so by `page`; at the limit itself the rows come."""
    await wire.create("s")
    await wire.append("s", user(), *(status(f"{n}") for n in range(29)))
    async with watch(wire, "s", view=VIEW_FULL, after_sequence=10, resume_limit=20) as watcher:
        await watcher.reaches(30)
        assert (watcher.page, watcher.numbers) == (None, list(range(11, 31)))
    async with watch(wire, "s", view=VIEW_FULL, after_sequence=9, resume_limit=20, page_size=5) as watcher:
        await watcher.reaches(30)
        assert watcher.page is not None
        assert watcher.numbers == [26, 27, 28, 29, 30]


async def test_rule_29_many_watchers_and_writers_lose_and_double_nothing(wire: Wire):
    """Thirty watchers that begin at every moment of three hundred appends."""
    await wire.create("s")
    await wire.append("s", user())

    async def write(number: int) -> None:
        for count in range(30):
            await wire.append("s", status(f"{number} {count}"))

    async def listen(view: int) -> list[int]:
        after = (await wire.session("s")).latest_sequence
        async with watch(wire, "s", view=view, after_sequence=after) as watcher:
            await watcher.reaches(301)
            assert watcher.numbers == list(range(after + 1, 302))
            return watcher.numbers

    async def listen_late(number: int) -> None:
        async def is_far_enough() -> bool:
            return (await wire.session("s")).latest_sequence >= number * 10

        await eventually(is_far_enough)
        await listen(views.VIEWS[number % 3])

    await asyncio.gather(*(write(number) for number in range(10)), *(listen_late(number) for number in range(30)))


async def test_rule_30_live_text_is_shown_and_never_stored(wire: Wire):
    """It reaches every watcher with its offset, and the row whose id it names supersedes it."""
    await wire.create("s")
    await wire.append("s", user(), begin())
    async with watch(wire, "s") as watcher, watch(wire, "s", view=VIEW_JOURNAL) as other:
        await watcher.reaches(2)
        await other.reaches(2)

        async def live():
            for offset, text in enumerate("abc"):
                update = LiveUpdate(event_id="r", block=LiveUpdate.BLOCK_REPLY, offset=offset, text_delta=text)
                yield PublishLiveRequest(session_id="s", live=update)

        await wire.journal.PublishLive(live())
        for each in (watcher, other):
            await each.until(lambda each=each: "".join(update.text_delta for update in each.live) == "abc")
            assert {update.event_id for update in each.live} == {"r"}
            assert each.live[0].offset == 0
        assert (await wire.session("s")).latest_sequence == 2
        await wire.append("s", reply("abc", id="r"))
        await watcher.reaches(3)
        assert watcher.rows[-1].id == "r"
    assert [row.sequence for row in await wire.rows("s")] == [1, 2, 3]
