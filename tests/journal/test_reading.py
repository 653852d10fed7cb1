"""Pages, rows, tails and sections of any store: within their budgets, and the whole of what was asked for."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from semantics.rows import (
    begin,
    call,
    checkpoint,
    end,
    marker,
    note,
    replacing,
    reply,
    result,
    status,
    summary,
    user,
)

from transcript.v1.event_pb2 import Event
from transcript.v1.transcript_service_pb2 import VIEW_COMPACT, VIEW_FULL, VIEW_JOURNAL, View
from transcript_server.journal.journal import Face, Span
from transcript_server.rules.limits import ELIDED_FIELD_BYTES

from .callers import BUDGET, Caller, events_of, refusal_of

LARGE = 100_000
VIEWS = [VIEW_COMPACT, VIEW_FULL, VIEW_JOURNAL]


def numbers(rows: list[Event]) -> list[int]:
    """The rows' sequences."""
    return [row.sequence for row in rows]


@pytest.fixture
async def told(caller: Caller) -> Caller:
    """A session of several turns and sections, with replacements, a checkpoint and large rows."""
    await caller.create()
    await caller.append("s", user("one"), call(), result("c1", "x" * LARGE), reply("done"))
    await caller.append("s", marker("first"))
    await caller.append("s", user("two"), status(), reply("y" * LARGE), note(), marker("second", collapse=False))
    await caller.append("s", summary("k"), checkpoint(1, 4, "k"), reply("shorter", surface=replacing(8, 8)))
    await caller.append("s", begin(), user("three"), call("c2"), result("c2"), reply("so"), end(), marker("third"))
    await caller.append("s", user("four"), status(), reply("at last"))
    return caller


@pytest.mark.parametrize("view", VIEWS, ids=View.Name)
async def test_rule_16_pages_laid_end_to_end_are_the_whole_view(told: Caller, view: int) -> None:
    """Whatever their size, and in however many parts each is read."""
    whole = numbers((await told.page(view=view, page_size=1000, expand_sections=True))[1])
    for page_size, budget in itertools.product([1, 2, 7, 1000], [1, 500, BUDGET]):
        pages: list[int] = []
        before, more = 0, True
        while more:
            info, rows = await told.page(
                view=view, page_size=page_size, before_sequence=before, expand_sections=True, budget=budget
            )
            pages = numbers(rows) + pages
            before, more = info.oldest_sequence, info.has_more
            assert (info.oldest_sequence, info.newest_sequence) == (rows[0].sequence, rows[-1].sequence)
        assert pages == whole


@pytest.mark.parametrize("view", VIEWS, ids=View.Name)
async def test_rule_16_after_sequence_pages_forward_to_the_same_rows(told: Caller, view: int) -> None:
    """The mirror image."""
    whole = numbers((await told.page(view=view, page_size=1000, expand_sections=True))[1])
    pages: list[int] = []
    after, newer = 0, True
    while newer:
        info, rows = await told.page(view=view, page_size=2, after_sequence=after)
        pages += numbers(rows)
        after, newer = info.newest_sequence, info.has_newer
        assert info.has_more == (pages[: -len(rows)] != [])
    assert pages == whole


@pytest.mark.parametrize("view", VIEWS, ids=View.Name)
async def test_rule_21_a_page_as_of_a_row_is_the_page_that_was_given_then(caller: Caller, view: int) -> None:
    """Its info and its rows, byte by byte."""
    await caller.create()
    then = []
    for event in [
        user(),
        call(),
        result(),
        marker("a"),
        user(),
        reply(),
        checkpoint(1, 3),
        begin(),
        marker("b"),
        end(),
    ]:
        await caller.append("s", event)
        info, rows = await caller.page(view=view, page_size=3)
        then.append((info.latest_sequence, info.SerializeToString(), [row.SerializeToString() for row in rows]))

    for sequence, info_bytes, rows_bytes in then:
        info, rows = await caller.page(view=view, page_size=3, as_of_sequence=sequence)
        assert (info.SerializeToString(), [row.SerializeToString() for row in rows]) == (info_bytes, rows_bytes)


async def test_a_page_fits_its_budget_or_begins_with_one_row(told: Caller) -> None:
    """What is read with it, beside its info; the rest is said by spans, oldest first."""
    for view in VIEWS:
        for budget in (1, 300, 2_000, 20_000, BUDGET):
            page = await told.cut(view=view, budget=budget, page_size=1000, expand_sections=True)
            size = page.info.ByteSize() + len(page.rows.batch)
            assert size <= budget or page.rows.count <= 1
            ends = [end for span in page.rows.rest for end in (span.first, span.last)]
            assert ends == sorted(ends)
            assert all(row.sequence < ends[0] for row in events_of(page.rows) if ends)


async def test_rule_20_each_face_shows_a_row_in_its_own_form(told: Caller) -> None:
    """Whole in the journal, cut for people, a checkpoint without its text; kept rows alone where asked for."""
    whole = {row.sequence: row for row in await told.rows(face=Face.JOURNAL)}
    human = {row.sequence: row for row in await told.rows(face=Face.HUMAN)}
    kept = {row.sequence: row for row in await told.rows(face=Face.KEPT)}

    assert [*whole] == [*range(1, 24)]
    assert whole.keys() - human.keys() == {13}, "a replacement is for the model alone"
    assert whole[3].tool_result.text == "x" * LARGE
    assert human[3].tool_result.text == "x" * ELIDED_FIELD_BYTES
    assert human[3].elided_bytes == LARGE - ELIDED_FIELD_BYTES
    assert (whole[12].compaction_checkpoint.text, human[12].compaction_checkpoint.text) == ("for the model", "")
    assert whole[12].compaction_checkpoint.summary_sequence == 11
    assert {*kept} == {1, 4, 5, 6, 8, 9, 10, 12, 15, 18, 20, 21, 23}
    assert all(kept[sequence] == human[sequence] for sequence in kept)


async def test_rows_come_as_many_as_fit_and_one_at_least(told: Caller) -> None:
    """`rest` says what is left; a span whose end the face does not show is read to its end."""
    place = await told.place()
    one = await told.journal.rows(told.who, place, [Span(Face.JOURNAL, 1, 20)], 1)
    assert (numbers(events_of(one)), one.rest) == ([1], (Span(Face.JOURNAL, 2, 20),))

    large = await told.journal.rows(told.who, place, [Span(Face.JOURNAL, 3, 20), Span(Face.KEPT, 21, 23)], 10)
    assert (large.count, large.rest) == (1, (Span(Face.JOURNAL, 4, 20), Span(Face.KEPT, 21, 23)))
    assert len(large.batch) > LARGE

    some = await told.journal.rows(told.who, place, [Span(Face.HUMAN, 9, 13)], BUDGET)
    assert (numbers(events_of(some)), some.rest) == ([9, 10, 11, 12], ())
    nothing = await told.journal.rows(told.who, place, [Span(Face.HUMAN, 13, 13)], BUDGET)
    assert (nothing.batch, nothing.count, nothing.rest) == (b"", 0, ())


async def test_rows_of_several_spans_come_in_the_order_of_the_spans(told: Caller) -> None:
    """Each in its own form, whatever their sequences are: a surface is not ordered by them."""
    place = await told.place()
    spans = [Span(Face.JOURNAL, 12, 12), Span(Face.HUMAN, 5, 7), Span(Face.RECALLED, 1, 4), Span(Face.KEPT, 11, 15)]
    rows = await told.journal.rows(told.who, place, spans, BUDGET)
    assert numbers(events_of(rows)) == [12, 5, 6, 7, 1, 4, 12, 15]
    assert rows.rest == ()
    for budget in (1, 100, 300):
        assert numbers(await told.spans(place, spans, budget)) == [12, 5, 6, 7, 1, 4, 12, 15]


async def test_rule_20_an_event_is_given_whole_but_for_a_checkpoints_text(told: Caller) -> None:
    """And one that is not there is EVENT_NOT_FOUND."""
    assert Event.FromString(await told.journal.event(told.who, "s", 3)).tool_result.text == "x" * LARGE
    shown = Event.FromString(await told.journal.event(told.who, "s", 12))
    assert (shown.compaction_checkpoint.text, shown.elided_bytes) == ("", 0)
    for sequence in (0, 24, -1, 1 << 40):
        refusal = await refusal_of(told.journal.event(told.who, "s", sequence))
        assert (refusal.reason_name, refusal.metadata) == ("EVENT_NOT_FOUND", {"sequence": f"{sequence}"})


@pytest.mark.parametrize("face", [Face.HUMAN, Face.JOURNAL])
async def test_rule_28_a_tail_is_what_lies_after_the_cursor(told: Caller, face: Face) -> None:
    """From any row on, in parts that fit, until the tip; then the bar and the session as they are there."""
    place = await told.place()
    whole = numbers(await told.rows(face=face))
    state = (await told.session()).SerializeToString(deterministic=True)
    for cursor in (0, 5, 12, 22, 23):
        seen: list[int] = []
        after = cursor
        while True:
            tail = await told.journal.tail(told.who, place, face, after, 600)
            seen += numbers(events_of(tail.rows))
            assert (tail.tip, tail.session) == (23, state)
            assert (tail.bar is not None) == (tail.last == tail.tip)
            after = tail.last
            if after == tail.tip:
                break
        assert seen == [sequence for sequence in whole if sequence > cursor]


async def test_rule_29_tails_that_are_asked_for_at_once_are_as_of_their_own_time(caller: Caller) -> None:
    """What is shared by watchers that wake together never shows less than was committed before it was asked for."""
    await caller.create()
    place = await caller.place()
    with caller.journal.hub.watch(place.number, None):
        for number in range(1, 30):
            early = asyncio.ensure_future(caller.journal.tail(caller.who, place, Face.JOURNAL, 0, BUDGET))
            await caller.append("s", user())
            late = await caller.journal.tail(caller.who, place, Face.JOURNAL, 0, BUDGET)
            assert (late.tip, late.rows.count) == (number, number)
            assert (await early).tip in (number - 1, number)


async def test_rule_13_the_bar_is_that_of_the_turn_as_of_a_row(told: Caller) -> None:
    """The collapsing marker lies before the latest turn's first row."""
    place = await told.place()
    bars = {at: await told.journal.bar(told.who, place, at) for at in range(24)}
    summed = {at: (bar.marker_sequence, bar.count, [*bar.labels]) for at, bar in bars.items() if bar is not None}

    first, third = (5, 1, [""]), (20, 3, ["", "first", "second"])
    assert summed == {**dict.fromkeys(range(6, 21), first), **dict.fromkeys(range(21, 24), third)}


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_rule_12_sections_are_listed_oldest_first_page_by_page(told: Caller, limit: int) -> None:
    """Each with its rows and its messages; all of them, whatever a page holds."""
    found, after = [], -1
    while True:
        sections, following = await told.journal.sections(told.who, "s", after, limit)
        assert 0 < len(sections) <= limit
        for section in sections:
            label = section.marker.label if section.HasField("marker") else None
            found.append((label, section.first_sequence, section.last_sequence, section.message_count))
        if following is None:
            break
        after = following
    assert found == [(None, 1, 4, 2), ("first", 5, 9, 2), ("second", 10, 19, 2), ("third", 20, 23, 2)]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], []),
        ([user()], [(1, 1, 1)]),
        ([status()], [(1, 1, 0)]),
        ([marker()], [(1, 1, 0)]),
        ([status(), marker()], [(2, 2, 0)]),
        ([note(), marker()], [(1, 1, 0), (2, 2, 0)]),
        ([marker(), marker(), user()], [(1, 1, 0), (2, 3, 1)]),
    ],
    ids=["nothing", "a prompt", "a status", "a marker", "status, marker", "note, marker", "two markers"],
)
async def test_rule_12_a_journal_without_a_marker_is_one_section(
    caller: Caller, events: list[Event], expected: list[tuple[int, int, int]]
) -> None:
    """What lies before the first counts only if a kept row is there; an empty journal has none."""
    await caller.create()
    if events:
        await caller.append("s", *events)
    sections, following = await caller.journal.sections(caller.who, "s", -1, 10)

    assert following is None
    assert [(s.first_sequence, s.last_sequence, s.message_count) for s in sections] == expected


async def test_a_place_of_sections_that_a_new_journal_does_not_reach_is_its_end(told: Caller) -> None:
    """A token of the journal that the session had before may still be sent."""
    assert await told.journal.sections(told.who, "s", 20, 10) == ((), None)
    assert await told.journal.sections(told.who, "s", 9_999, 10) == ((), None)


async def test_rule_16_what_the_journal_does_not_reach_is_out_of_range(told: Caller) -> None:
    """Told with the place that was asked for and the tip."""
    refusal = await refusal_of(told.page(as_of_sequence=24))

    assert (refusal.reason_name, refusal.metadata) == ("SEQUENCE_AHEAD", {"sequence": "24", "latest_sequence": "23"})


async def test_an_empty_session_has_an_empty_page(caller: Caller) -> None:
    """In every view, with the journal's identity."""
    session = await caller.create()
    for view in VIEWS:
        info, rows = await caller.page(view=view)
        assert rows == []
        assert info.journal_id == session.journal_id
        info.ClearField("journal_id")
        assert info.ByteSize() == 0


async def test_a_reader_sees_one_moment(caller: Caller) -> None:
    """While rows are being written, a page's info and its rows agree."""
    await caller.create()
    done = asyncio.Event()

    async def write() -> None:
        for number in range(60):
            await caller.append("s", user(f"{number}"), reply())
        done.set()

    async def read() -> None:
        while not done.is_set():
            page = await caller.cut(view=VIEW_JOURNAL, page_size=1000)
            assert page.rows.count == page.info.latest_sequence
            assert page.rows.count % 2 == 0

    await asyncio.gather(write(), read(), read())
