"""Section markers, and what they fold (rules 11 to 14)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript.v1.event_pb2 import SectionMarker
from transcript.v1.journal_service_pb2 import AddSectionMarkerRequest
from transcript.v1.transcript_service_pb2 import VIEW_COMPACT, VIEW_FULL, VIEW_JOURNAL, ListSectionsRequest, Section

from . import views
from .histories import long_enough
from .play import Player
from .rows import (
    APPEND,
    LOG_ONLY,
    ask,
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
    user,
)
from .wire import Wire, bytes_of, failure_of
from .world import World, examples

HUMAN_VIEWS = (VIEW_COMPACT, VIEW_FULL)


async def listed(wire: Wire, session_id: str = "s", page_size: int = 0) -> list[Section]:
    """ListSections, all of its pages."""
    found: list[Section] = []
    token = ""
    while True:
        request = ListSectionsRequest(session_id=session_id, page_size=page_size, page_token=token)
        answer = await wire.transcript.ListSections(request)
        assert page_size == 0 or len(answer.sections) <= page_size
        found += answer.sections
        token = answer.next_page_token
        if not token:
            return found


async def bar(wire: Wire, view: int = VIEW_COMPACT):
    """The first page's bar, as count, labels and marker; None where there is none."""
    info = (await wire.page("s", view=view)).info
    if not info.HasField("hidden_sections"):
        return None
    hidden = info.hidden_sections
    return hidden.count, list(hidden.labels), hidden.marker_sequence


def test_rule_11_a_section_marker_is_closed():
    """label, source and collapse_earlier are all that a caller may say."""
    fields = SectionMarker.DESCRIPTOR.fields
    assert [(field.name, field.number) for field in fields] == [("label", 1), ("source", 2), ("collapse_earlier", 3)]
    carried = {field.name for field in AddSectionMarkerRequest.DESCRIPTOR.fields}
    assert carried - {"session_id", "event_id"} == {field.name for field in fields}


async def test_rule_11_collapse_earlier_is_true_when_absent_and_always_stored(wire: Wire):
    """False stays false."""
    await wire.create("s")
    await wire.append("s", marker(), marker("m", True), marker("m", False))
    stored = [row.section_marker for row in await wire.rows("s")]
    assert all(each.HasField("collapse_earlier") for each in stored)
    assert [each.collapse_earlier for each in stored] == [True, True, False]


@pytest.mark.parametrize(
    ("row", "field"),
    [(marker(surface=LOG_ONLY), "surface"), (marker(surface=APPEND), "surface"),
     (marker(surface=replacing(1, 1)), "surface"), (marker(source_sequences=[1]), "source_sequences")],
)  # fmt: skip
async def test_rule_11_a_marker_admits_no_surface_and_no_source_sequences(wire: Wire, row, field):
    """Not even the surface that it has anyway."""
    await wire.create("s")
    await wire.append("s", user())
    failure = await wire.refused("s", row)
    assert failure.reason == "INVALID_FIELD"
    assert any(field in violation for violation in failure.violations)


GOOD = ("", "a" * 120, "é" * 120, "e\u0301" * 60, "\U0001f469\u200d\U0001f52c", "日本語", "a b", "½ · —", "❤️")
BAD = (
    "a" * 121,
    "\x00",
    "a\tb",
    "a\nb",
    "\x7f",
    "\x85",
    "\u00ad",
    "\u061c",
    "\u200b",
    "\u200c",
    "a\u200db",
    "\u200d",
    "\u200e",
    "\u202e",
    "\u2028",
    "\u2029",
    "\u2060",
    "\u2066",
    "\ufeff",
    "\U000e0041",
    "\u0378",
    "\uffff",
)


@pytest.mark.parametrize("label", GOOD)
async def test_rule_11_what_a_label_may_be(wire: Wire, label):
    """It comes back brought to NFC."""
    await wire.create("s")
    await wire.append("s", marker(label))
    await wire.journal.AddSectionMarker(AddSectionMarkerRequest(session_id="s", label=label))
    expected = unicodedata.normalize("NFC", label)
    assert [row.section_marker.label for row in await wire.rows("s")] == [expected, expected]


@pytest.mark.parametrize("label", BAD, ids=ascii)
async def test_rule_11_what_a_label_may_not_be(wire: Wire, label):
    """By either RPC, for the label and for the source; nothing is written."""
    await wire.create("s")
    add = wire.journal.AddSectionMarker
    failures = {
        "events[0].section_marker.label": await wire.refused("s", marker(label)),
        "events[0].section_marker.source": await wire.refused("s", marker(source=label)),
        "label": await failure_of(add(AddSectionMarkerRequest(session_id="s", label=label))),
        "source": await failure_of(add(AddSectionMarkerRequest(session_id="s", source=label))),
    }
    for field, failure in failures.items():
        assert failure.reason == "INVALID_FIELD", field
        assert any(violation.endswith(field.rpartition(".")[2]) for violation in failure.violations), failure
    assert (await wire.session("s")).latest_sequence == 0


async def test_rule_11_a_source_has_at_most_64_code_points(wire: Wire):
    """64 of them pass."""
    await wire.create("s")
    await wire.append("s", marker(source="é" * 64))
    assert (await wire.refused("s", marker(source="é" * 65))).reason == "INVALID_FIELD"


async def test_rule_12_a_marker_begins_a_section_and_is_its_first_row(wire: Wire):
    """What lies before the first marker counts only with a row of a kept kind."""
    await wire.create("s")
    await wire.append("s", status(), marker("first"), user(), reply(), marker(), status())
    assert [(each.first_sequence, each.last_sequence, each.message_count) for each in await listed(wire)] == [
        (2, 4, 2),
        (5, 6, 0),
    ]
    await wire.create("t")
    await wire.append("t", user(), call(), reply(), marker("first", False))
    sections = await listed(wire, "t")
    assert [(each.first_sequence, each.last_sequence, each.message_count) for each in sections] == [
        (1, 3, 2),
        (4, 4, 0),
    ]
    assert not sections[0].HasField("marker")
    assert sections[1].marker == SectionMarker(label="first", collapse_earlier=False)


async def test_rule_12_without_a_marker_the_whole_journal_is_one_section(wire: Wire):
    """From its first row to its last."""
    await wire.create("s")
    await wire.append("s", status(), user(), reply(), status())
    sections = await listed(wire)
    assert [(each.first_sequence, each.last_sequence, each.message_count) for each in sections] == [(1, 4, 2)]
    assert not sections[0].HasField("marker")


@examples(12)
@given(steps=long_enough(), page_size=st.integers(1, 4))
def test_rule_12_any_historys_sections_are_the_models(world: World, steps, page_size):
    """Bounds, labels and message counts, page by page."""

    async def play():
        session_id = (await world.wire.create(world.new_id())).id
        player = Player(world.wire, session_id)
        await player.play(steps)
        await player.check_rows()
        expected = bytes_of(views.sections(player.model.events()))
        assert bytes_of(await listed(world.wire, session_id)) == expected
        assert bytes_of(await listed(world.wire, session_id, page_size)) == expected

    world.run(play())


async def test_rule_13_a_section_folds_when_the_next_turn_begins(wire: Wire):
    """Until then the closing words of the finished item stay in sight."""
    await wire.create("s")
    await wire.append("s", user("one"), reply(), end(), marker("second item"))
    assert await bar(wire) is None
    assert [row.sequence for row in (await wire.page("s")).rows] == [1, 2, 3, 4]
    await wire.append("s", user("two"))
    for view in HUMAN_VIEWS:
        assert await bar(wire, view) == (1, [""], 4)
        page = await wire.page("s", view=view)
        assert [row.sequence for row in page.rows] == [4, 5]
        assert page.info.has_more
    assert await bar(wire, VIEW_JOURNAL) is None
    assert len((await wire.page("s", view=VIEW_JOURNAL)).rows) == 5


async def test_rule_13_it_is_the_last_marker_that_asks_to_collapse(wire: Wire):
    """One that does not is hidden with the rest, and counts."""
    await wire.create("s")
    for label, collapse in (("a", True), ("b", False), ("c", True), ("d", False)):
        await wire.append("s", marker(label, collapse), user(), reply(), end())
    assert await bar(wire) == (2, ["a", "b"], 9)
    assert [row.sequence for row in (await wire.page("s")).rows] == [9, 10, 11, 13, 14, 15, 16]


async def test_rule_13_with_nothing_before_it_a_marker_hides_nothing(wire: Wire):
    """A count of 0: no bar and no cut."""
    await wire.create("s")
    await wire.append("s", status(), call(), marker("first"), user())
    assert await bar(wire) is None
    assert (await wire.page("s", view=VIEW_FULL)).info.oldest_sequence == 1


async def test_rule_13_a_marker_within_the_latest_turn_collapses_nothing_yet(wire: Wire):
    """Not by standing in it, and not by being held for its end."""
    await wire.create("s")
    await wire.append("s", user(), reply(), end())
    await wire.append("s", user(), begin(), marker("m"))
    await wire.append("s", marker("w"), as_recorded=True)
    assert await bar(wire) is None
    await wire.append("s", end())
    assert await bar(wire) is None
    await wire.append("s", begin())
    assert await bar(wire) == (2, ["", "w"], 8)


async def test_rule_13_a_page_reaches_the_marker_and_then_what_is_before_it(wire: Wire):
    """The bar is on each page that is cut after the marker; oldest_sequence says that it was reached."""
    await wire.create("s")
    await wire.append("s", user(), reply(), end(), marker("m"))
    for _ in range(3):
        await wire.append("s", user(), reply(), end())
    first = await wire.page("s", page_size=2)
    assert (first.info.oldest_sequence, first.info.hidden_sections.marker_sequence) == (11, 4)
    second = await wire.page("s", page_size=5, before_sequence=11)
    assert (second.info.oldest_sequence, second.info.hidden_sections.marker_sequence) == (4, 4)
    assert second.info.has_more
    third = await wire.page("s", page_size=3, before_sequence=4)
    assert not third.info.HasField("hidden_sections")
    assert ([row.sequence for row in third.rows], third.info.has_more) == ([1, 2], False)
    just_behind = await wire.page("s", before_sequence=5)
    assert [row.sequence for row in just_behind.rows] == [4]
    assert just_behind.info.hidden_sections.count == 1


async def test_rule_13_pages_by_after_sequence_and_expanded_ones_have_no_bar(wire: Wire):
    """They are never cut at a marker."""
    await wire.create("s")
    await wire.append("s", user(), reply(), end(), marker("m"), user())
    for page in (await wire.page("s", after_sequence=0), await wire.page("s", expand_sections=True)):
        assert not page.info.HasField("hidden_sections")
        assert [row.sequence for row in page.rows] == [1, 2, 4, 5]


async def test_rule_13_the_bar_carries_the_latest_32_labels(wire: Wire):
    """And counts them all."""
    await wire.create("s")
    await wire.append("s", *(marker(f"{n}") for n in range(41)), user())
    assert await bar(wire) == (40, [f"{n}" for n in range(8, 40)], 41)


@examples(15)
@given(steps=long_enough())
def test_rule_13_without_a_collapsing_marker_expanded_or_not_is_the_same_bytes(world: World, steps):
    """Compared as they come off the wire."""

    async def play():
        wire, session_id = world.wire, (await world.wire.create(world.new_id())).id
        player = Player(wire, session_id)
        await player.play(steps)
        if views.hidden_sections(player.model.events()) is not None:
            return
        for view in views.VIEWS:
            for fields in ({}, {"page_size": 2}, {"before_sequence": 5}, {"before_sequence": 2, "page_size": 1}):
                folded = await wire.page(session_id, view=view, **fields)
                expanded = await wire.page(session_id, view=view, expand_sections=True, **fields)
                assert folded.messages == expanded.messages

    world.run(play())


async def test_rule_14_markers_are_no_part_of_the_conversation(wire: Wire):
    """They enter no context, count as no message, retire no request and move no turn."""
    await wire.create("s")
    await wire.append("s", user(), ask(), call(), result())
    before = await wire.session("s")
    await wire.append("s", marker("m"))
    after = await wire.session("s")
    assert after.latest_sequence == 5
    for name in ("last_prompt_at", "latest_turn", "running", "open_request_count", "message_count"):
        assert getattr(after, name) == getattr(before, name), name
    await wire.expect_surface("s", [1, 3, 4])
    await wire.append("s", user("steers still"))
    await wire.append("s", user("declared"), marker(), begin())
    turns = [row.turn for row in await wire.rows("s")]
    assert turns == [1, 1, 1, 1, 1, 1, 2, 2, 2]
    page = await wire.page("s", page_size=1)
    assert [row.sequence for row in page.rows] == [7, 8, 9]


async def test_rule_14_a_marker_does_not_stand_in_the_way_of_a_checkpoint(wire: Wire):
    """It is not on the surface, so a range runs past it."""
    await wire.create("s")
    await wire.append("s", user(), marker(), reply(), note())
    await wire.append("s", checkpoint(1, 3))
    await wire.expect_surface("s", [5, 4])
