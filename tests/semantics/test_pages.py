"""Pages: what stands on one, and that together they are the whole view (rules 15 to 19 and 21)."""

from __future__ import annotations

from collections.abc import Sequence

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript.v1.event_pb2 import Event
from transcript.v1.transcript_service_pb2 import VIEW_COMPACT, VIEW_FULL, VIEW_JOURNAL, ReadPageRequest

from . import views
from .facts import is_message
from .histories import Step, long_enough
from .play import Player
from .rows import (
    ask,
    begin,
    call,
    checkpoint,
    end,
    marker,
    note,
    replacing,
    reply,
    respond,
    result,
    status,
    steering,
    summary,
    user,
)
from .wire import TRANSCRIPT, Served, Wire, bytes_of, failure_of
from .world import THOROUGH, World, examples

SIZES = (1, 2, 3, 5, 8)


def numbers(page: Served | Sequence[Event]) -> list[int]:
    """The rows' sequences."""
    return [row.sequence for row in (page.rows if isinstance(page, Served) else page)]


async def played(world: World, steps: Sequence[Step]) -> Player:
    """A session that this happened to, with its rows learned."""
    player = Player(world.wire, (await world.wire.create(world.new_id())).id)
    await player.play(steps)
    await player.check_rows()
    return player


async def compare(player: Player, **fields) -> Served:
    """One page against the model's."""
    wire, session_id, events = player.wire, player.session_id, player.model.events()
    named = dict(fields)
    named["before"] = named.pop("before_sequence", 0)
    named["after"] = named.pop("after_sequence", None)
    named["as_of"] = named.pop("as_of_sequence", 0)
    named["expand"] = named.pop("expand_sections", False)
    expected = views.read_page(events, **named)
    page = await wire.page(session_id, **fields)
    assert numbers(page) == numbers(expected.rows), fields
    assert bytes_of(page.rows) == bytes_of(expected.rows), fields
    assert page.info.journal_id
    page.info.ClearField("journal_id")
    assert page.info == expected.info, fields
    return page


@examples(15)
@given(steps=long_enough(), data=st.data())
def test_rules_15_to_19_any_page_of_any_history_is_the_models(world: World, steps, data):
    """Rules 13, 15, 16, 17, 18, 19, 21, 23: rows to the byte, bounds, bar, what lies around, and open requests."""

    async def play():
        player = await played(world, steps)
        tip = player.model.tip
        for _ in range(12):
            fields = {"view": data.draw(st.sampled_from(views.VIEWS)), "page_size": data.draw(st.integers(0, 6))}
            as_of = data.draw(st.sampled_from([0, 0, 1, 2, 3])) and data.draw(st.integers(0, tip))
            fields["as_of_sequence"] = as_of
            if data.draw(st.booleans()):
                fields["after_sequence"] = data.draw(st.integers(0, as_of or tip))
            else:
                fields["before_sequence"] = data.draw(st.integers(0, tip + 2))
            fields["expand_sections"] = data.draw(st.booleans())
            await compare(player, **fields)

    world.run(play())


async def laid_end_to_end(wire: Wire, session_id: str, view: int, size: int, expand: bool) -> list[Event]:
    """Backwards from the tip, as a reader pages."""
    page = await wire.page(session_id, view=view, page_size=size, expand_sections=expand)
    rows, as_of = list(page.rows), page.info.latest_sequence
    while page.info.has_more:
        page = await wire.page(
            session_id,
            view=view,
            page_size=size,
            expand_sections=expand,
            before_sequence=page.info.oldest_sequence,
            as_of_sequence=as_of,
        )
        assert page.rows
        assert page.info.has_newer
        assert (page.info.oldest_sequence, page.info.newest_sequence) == (page.rows[0].sequence, page.rows[-1].sequence)
        rows = [*page.rows, *rows]
    return rows


async def laid_forwards(wire: Wire, session_id: str, view: int, size: int, as_of: int) -> list[Event]:
    """Forwards from the beginning."""
    rows: list[Event] = []
    after = 0
    while True:
        page = await wire.page(session_id, view=view, page_size=size, after_sequence=after, as_of_sequence=as_of)
        rows += page.rows
        if not page.info.has_newer:
            return rows
        assert page.rows
        after = page.info.newest_sequence


@examples(8)
@given(steps=long_enough(8, 24))
def test_rule_16_pages_laid_end_to_end_are_the_whole_view(world: World, steps):
    """For every page size, backwards and forwards, in all three views, expanded or not: rows to the byte."""

    async def play():
        player = await played(world, steps)
        wire, session_id, events = world.wire, player.session_id, player.model.events()
        for view in views.VIEWS:
            expected = bytes_of(views.view_of(events, view))
            for size in range(1, len(events) + 2) if THOROUGH else SIZES:
                for expand in (False, True):
                    assert bytes_of(await laid_end_to_end(wire, session_id, view, size, expand)) == expected
                assert bytes_of(await laid_forwards(wire, session_id, view, size, len(events))) == expected

    world.run(play())


@examples(8)
@given(steps=long_enough(6, 14), size=st.integers(1, 5))
def test_rule_21_a_page_as_of_a_row_has_the_bytes_that_a_reader_was_given_then(world: World, steps, size):
    """Kept from each moment of the session's life and asked for again at its end."""

    async def play():
        wire = world.wire
        player = Player(wire, (await wire.create(world.new_id())).id)
        kept: dict[tuple[int, int, bool], list[bytes]] = {}
        for step in steps:
            await player.play([step])
            for view in views.VIEWS:
                for expand in (False, True):
                    page = await wire.page(player.session_id, view=view, page_size=size, expand_sections=expand)
                    kept[player.model.tip, view, expand] = page.messages
        for (tip, view, expand), messages in kept.items():
            again = await wire.page(
                player.session_id, view=view, page_size=size, expand_sections=expand, as_of_sequence=tip
            )
            assert again.messages == messages or tip == 0

    world.run(play())


@examples(8)
@given(steps=long_enough(8, 20), size=st.integers(1, 5))
def test_rule_15_no_page_begins_between_a_prompt_and_its_reply(world: World, steps, size):
    """Each compact page begins where a turn does, or at the collapsing marker; none of these turns is too big."""

    async def play():
        player = await played(world, steps)
        events = player.model.events()
        shown = views.view_of(events, VIEW_COMPACT)
        before = 0
        while True:
            page = await world.wire.page(
                player.session_id, page_size=size, before_sequence=before, as_of_sequence=len(events)
            )
            if page.rows:
                first = page.rows[0]
                whole = first.sequence == min(row.sequence for row in shown if row.turn == first.turn)
                assert whole or first.sequence == page.info.hidden_sections.marker_sequence
                counted = [sum(map(is_message, turn)) for turn in views.whole_turns(list(page.rows))]
                assert sum(counted[1:]) < size
            if not page.info.has_more:
                break
            before = page.info.oldest_sequence

    world.run(play())


async def test_rule_15_a_compact_page_has_the_latest_turn_whole_and_of_others_the_kept_kinds(wire: Wire):
    """The default is 40 messages."""
    await wire.create("s")
    for number in range(30):
        call_id = f"c{number}"
        await wire.append("s", user(), begin(), call(call_id), result(call_id), reply(), status(), end())
    page = await wire.page("s")
    assert sum(map(is_message, page.rows)) == 40
    assert [row.turn for row in page.rows] == [*(turn for turn in range(11, 30) for _ in range(2)), *[30] * 7]
    assert page.info.has_more
    assert [row.sequence for row in page.rows][-7:] == list(range(204, 211))


async def test_rule_15_a_runaway_latest_turn_is_cut_at_its_oldest_end_and_all_of_it_is_in_reach(wire: Wire):
    """2,500 rows after one prompt: pages of at most 1000, none missing; then the turn before it."""
    await wire.create("s")
    await wire.append("s", user("before"), reply())
    await wire.append("s", user("runaway"), begin())
    for start in range(0, 2498, 500):
        await wire.append("s", *(status(f"{n}") for n in range(start, min(start + 500, 2498))))
    page = await wire.page("s")
    assert numbers(page) == list(range(1503, 2503))
    assert (page.info.has_more, page.info.has_newer) == (True, False)
    page = await wire.page("s", before_sequence=1503, as_of_sequence=2502)
    assert numbers(page) == list(range(503, 1503))
    page = await wire.page("s", before_sequence=503, as_of_sequence=2502)
    assert numbers(page) == list(range(1, 503))
    assert numbers(await laid_end_to_end(wire, "s", VIEW_COMPACT, 40, expand=False)) == list(range(1, 2503))
    assert numbers(await laid_forwards(wire, "s", VIEW_COMPACT, 40, 2502)) == list(range(1, 2503))


async def test_rule_15_a_page_stops_before_the_turn_that_would_bring_it_past_1000_rows(wire: Wire):
    """The latest turn has 990 rows, the one before it 11 that are kept."""
    await wire.create("s")
    await wire.append("s", user(), reply(), user("second"), *(note() for _ in range(10)))
    await wire.append("s", user("third"), *(status() for _ in range(989)))
    page = await wire.page("s")
    assert [len(page.rows), page.info.oldest_sequence] == [990, 14]
    page = await wire.page("s", before_sequence=14)
    assert numbers(page) == list(range(1, 14))


@pytest.mark.parametrize("turns_of", [1, 7])
async def test_rule_15_a_page_stops_at_4_mib_of_rows_as_served(wire: Wire, turns_of):
    """120 rows of 60,000 bytes, in one turn or in turns of seven: no more fits, and none is missing."""
    await wire.create("s")
    text = "x" * 60_000
    for number in range(120):
        first = number == 0 if turns_of == 1 else number % turns_of == 0
        await wire.append("s", user(text) if first else reply(text))
    seen: list[int] = []
    before = 0
    while True:
        page = await wire.page("s", page_size=1000, before_sequence=before, as_of_sequence=120)
        size = sum(row.ByteSize() for row in page.rows)
        assert size <= 4 << 20
        next_size = 60_100 * (1 if turns_of == 1 else turns_of)
        assert size + next_size > 4 << 20 or not page.info.has_more
        assert turns_of == 1 or page.rows[0].user_message.text
        seen = [*numbers(page), *seen]
        if not page.info.has_more:
            break
        before = page.info.oldest_sequence
    assert seen == list(range(1, 121))
    assert numbers(await laid_forwards(wire, "s", VIEW_COMPACT, 1000, 120)) == seen


async def test_rule_15_rows_count_toward_4_mib_as_they_are_served(wire: Wire):
    """8 MB of rows, served cut, stand on one page."""
    await wire.create("s")
    for number in range(40):
        await wire.append("s", user("x" * 200_000) if number == 0 else reply("y" * 200_000))
    page = await wire.page("s", page_size=1000)
    assert numbers(page) == list(range(1, 41))


async def test_rule_16_before_beyond_the_tip_reads_from_the_tip(wire: Wire):
    """As if it were not set, but for what lies beyond."""
    await wire.create("s")
    await wire.append("s", user(), reply(), user())
    for view in views.VIEWS:
        tip = await wire.page("s", view=view)
        assert (await wire.page("s", view=view, before_sequence=1000)).messages == tip.messages


@pytest.mark.parametrize(
    "fields",
    [{"as_of_sequence": 4}, {"after_sequence": 4}, {"after_sequence": 3, "as_of_sequence": 2}],
)
async def test_rule_16_what_the_journal_does_not_reach_is_out_of_range(wire: Wire, fields):
    """The tip itself is in reach."""
    await wire.create("s")
    await wire.append("s", user(), reply(), user())
    request = ReadPageRequest(session_id="s", **fields)
    failure = await failure_of(wire.raw_stream(TRANSCRIPT + "ReadPage", request))
    assert (failure.code, failure.reason) == (grpc.StatusCode.OUT_OF_RANGE, "SEQUENCE_AHEAD")
    assert set(failure.metadata) == {"sequence", "latest_sequence"}
    assert numbers(await wire.page("s", after_sequence=3)) == []
    assert numbers(await wire.page("s", as_of_sequence=3)) == [1, 2, 3]


async def test_rule_16_through_and_after_beyond_the_tip_are_out_of_range_for_rows_too(wire: Wire):
    """ReadEvents takes the tip, and nothing after it."""
    await wire.create("s")
    await wire.append("s", user(), reply(), user())
    assert numbers(await wire.rows("s", after=1, through=2)) == [2]
    assert await wire.rows("s", after=3) == []
    for after, through in ((0, 4), (4, 0)):
        failure = await failure_of(wire.rows("s", after, through))
        assert (failure.code, failure.reason) == (grpc.StatusCode.OUT_OF_RANGE, "SEQUENCE_AHEAD")


async def test_rule_17_an_empty_page_speaks_of_what_was_asked_for(wire: Wire):
    """Before the first row of the view, after the last, and of an empty session."""
    await wire.create("s")
    empty = await wire.page("s")
    assert (empty.info.has_more, empty.info.has_newer, empty.info.latest_sequence) == (False, False, 0)
    assert (empty.info.oldest_sequence, empty.info.newest_sequence) == (0, 0)
    await wire.append("s", status(), user(), reply(), user())
    page = await wire.page("s", before_sequence=2)
    assert (numbers(page), page.info.has_more, page.info.has_newer) == ([], False, True)
    page = await wire.page("s", after_sequence=4)
    assert (numbers(page), page.info.has_more, page.info.has_newer) == ([], True, False)
    page = await wire.page("s", as_of_sequence=2, after_sequence=2)
    assert (page.info.has_more, page.info.has_newer, page.info.latest_sequence) == (True, False, 2)


async def test_rule_17_has_more_and_has_newer_speak_of_the_view(wire: Wire):
    """Rows that the view does not show count for nothing; hidden sections count."""
    await wire.create("s")
    await wire.append("s", user(), call(), end())
    await wire.append("s", user(), reply(), user("copy", surface=replacing(4, 4)))
    page = await wire.page("s", page_size=1, view=VIEW_FULL)
    assert (numbers(page), page.info.has_more, page.info.has_newer) == ([5], True, False)
    compact = await wire.page("s", after_sequence=1, page_size=1)
    assert (numbers(compact), compact.info.has_more, compact.info.has_newer) == ([4, 5], True, False)
    assert (await wire.page("s", view=VIEW_JOURNAL, before_sequence=6, page_size=1)).info.has_newer


async def test_rule_18_a_full_page_counts_rows_of_the_human_transcript(wire: Wire):
    """A hundred by default; replacements are not among them. A journal page counts every row."""
    await wire.create("s")
    await wire.append("s", user(), *(status(f"{n}") for n in range(150)))
    await wire.append("s", *(user("copy", surface=replacing(n or 1, n or 1)) for n in (0, 152, 153)))
    page = await wire.page("s", view=VIEW_FULL)
    assert numbers(page) == list(range(52, 152))
    page = await wire.page("s", view=VIEW_JOURNAL)
    assert numbers(page) == list(range(55, 155))


async def test_rule_18_a_checkpoint_knows_its_summary(wire: Wire):
    """The latest before it with its compaction_id; none for an empty id or another one."""
    await wire.create("s")
    await wire.append("s", user(), summary("k"), summary("k"), summary("other"), summary(""))
    await wire.append("s", checkpoint(1, 1, "k"), summary("k"), checkpoint(6, 6), checkpoint(8, 8, "unknown"))
    await wire.append("s", checkpoint(9, 9, "k"))
    rows = await wire.rows("s")
    assert [rows[at - 1].compaction_checkpoint.summary_sequence for at in (6, 8, 9, 10)] == [3, 0, 0, 7]


async def test_rule_19_only_messages_count_toward_a_compact_page(wire: Wire):
    """Replacement copies, markers, notes, requests and checkpoints do not."""
    await wire.create("s")
    await wire.append("s", user(), reply(), end())
    await wire.append("s", user(), reply(), marker(collapse=False), note(), ask(), status(), end())
    await wire.append("s", user("copy", surface=replacing(1, 1)), checkpoint(2, 2), end())
    await wire.append("s", user(), end())
    page = await wire.page("s", page_size=2)
    assert numbers(page) == [4, 5, 6, 7, 8, 12, 14, 15]
    page = await wire.page("s", page_size=4)
    assert numbers(page) == [1, 2, 4, 5, 6, 7, 8, 12, 14, 15]


async def test_rule_19_every_waiting_request_is_within_reach(wire: Wire):
    """Wherever it lies, as of the row that is read; the latest 32 of them."""
    await wire.create("s")
    await wire.append("s", user(), begin(), *(ask(f"q{n}") for n in range(40)), *(status() for _ in range(200)))
    for view in views.VIEWS:
        page = await wire.page("s", view=view, page_size=1)
        assert list(page.info.open_request_sequences) == list(range(11, 43))
    await wire.append("s", respond("q39"), respond("q0"))
    assert list((await wire.page("s")).info.open_request_sequences) == list(range(10, 42))
    then = await wire.page("s", as_of_sequence=4)
    assert list(then.info.open_request_sequences) == [3, 4]
    assert (await wire.session("s")).open_request_count == 38


async def test_rule_21_held_rows_are_not_in_it(wire: Wire):
    """As of the row before the turn's end, the marker is not there, though it was asked for before."""
    await wire.create("s")
    await wire.append("s", user(), begin(), marker("m"), reply())
    then = await wire.page("s")
    await wire.append("s", end(), steering())
    assert (await wire.page("s", as_of_sequence=3)).messages == then.messages
