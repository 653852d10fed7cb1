"""The model's face: what a row does to the surface, and what the model was sent at any row (rules 23 to 26)."""

from __future__ import annotations

import grpc
import pytest

from transcript.v1 import kind_pb2
from transcript.v1.event_pb2 import AppendOp, Event, LogOnlyOp, Surface

from .facts import KINDS
from .rows import (
    LOG_ONLY,
    call,
    checkpoint,
    end,
    marker,
    note,
    replacing,
    reply,
    reset,
    result,
    rewind,
    status,
    summary,
    user,
)
from .wire import Wire


async def test_rule_23_every_stored_row_says_what_it_does_to_the_surface(wire: Wire):
    """Written where the writer left it out."""
    await wire.create("s")
    await wire.append("s", user(), call(), status(), marker(), summary("k"), user(surface=LOG_ONLY), checkpoint(1, 2))
    operations = [row.surface.WhichOneof("op") for row in await wire.rows("s")]
    assert operations == ["append", "append", "log_only", "log_only", "log_only", "log_only", "replace"]


@pytest.mark.parametrize("name", [name for name in KINDS if name != "section_marker"])
async def test_rule_23_only_a_kind_that_surfaces_may_append_or_replace(wire: Wire, name):
    """And a checkpoint must replace."""
    await wire.create("s")
    await wire.append("s", user(), user())
    surfaces = KINDS[name].GetOptions().Extensions[kind_pb2.facts].surfaces
    for operation in (Surface(append=AppendOp()), replacing(1, 1), Surface(log_only=LogOnlyOp())):
        row = Event(surface=operation)
        getattr(row, name).SetInParent()
        if "request_id" in KINDS[name].message_type.fields_by_name:
            getattr(row, name).request_id = "q"
        which = operation.WhichOneof("op")
        allowed = {"append", "replace", "log_only"} if surfaces else {"log_only"}
        if name == "compaction_checkpoint":
            allowed = {"replace"}
        if which not in allowed:
            failure = await wire.refused("s", row)
            assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "BAD_SURFACE_OP"), which
        elif surfaces and which != "log_only":
            await wire.append("s", row)


async def test_rule_23_a_checkpoint_must_say_that_it_replaces(wire: Wire):
    """Its kind's default would be to append."""
    await wire.create("s")
    row = Event()
    row.compaction_checkpoint.text = "t"
    assert (await wire.refused("s", row)).reason == "BAD_SURFACE_OP"


async def test_rule_23_a_replacement_is_silent(wire: Wire):
    """No message, no prompt, no row for people, no turn; a checkpoint is one line without its text."""
    await wire.create("s")
    await wire.append("s", user(), reply(), end())
    before = await wire.session("s")
    await wire.append("s", user("copy", surface=replacing(1, 1)), reply("copy", surface=replacing(2, 2)))
    await wire.append("s", checkpoint(4, 5))
    after = await wire.session("s")
    for name in ("message_count", "last_prompt_at", "latest_turn", "usage"):
        assert getattr(after, name) == getattr(before, name), name
    page = await wire.page("s", view=2)
    assert [row.sequence for row in page.rows] == [1, 2, 3, 6]
    assert page.rows[3].compaction_checkpoint.text == ""
    assert (await wire.rows("s"))[5].compaction_checkpoint.text == "for the model"


async def test_rule_24_the_surface_is_the_fold_of_append_replace_reset_and_rewind(wire: Wire):
    """A replacement takes its range's place; a reset empties all; a rewind takes off what stands after a row."""
    await wire.create("s")
    system = Event()
    system.system_message.text = "be kind"
    await wire.append("s", system, user(), reply(), user(), reply())
    await wire.append("s", checkpoint(2, 3))
    await wire.expect_surface("s", [1, 6, 4, 5])
    await wire.append("s", rewind(6))
    await wire.expect_surface("s", [1, 6])
    await wire.append("s", note(), reset(), user())
    await wire.expect_surface("s", [10])
    await wire.append("s", rewind(0))
    await wire.expect_surface("s", [])


async def test_rule_24_a_rewind_names_a_row_that_is_on_the_surface(wire: Wire):
    """Replaced, rewound, log-only or never there: refused."""
    await wire.create("s")
    await wire.append("s", user(), reply(), status(), user("copy", surface=replacing(1, 1)))
    for target in (1, 3, 6, 99):
        failure = await wire.refused("s", rewind(target))
        assert (failure.code, failure.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "BAD_SURFACE_RANGE"), target
        assert failure.metadata["after_sequence"] == str(target)
    await wire.append("s", rewind(4))
    await wire.expect_surface("s", [4])
    assert (await wire.refused("s", rewind(2))).reason == "BAD_SURFACE_RANGE"


async def test_rule_26_a_range_runs_in_the_surfaces_own_order(wire: Wire):
    """After a replacement that is not the order of the sequences."""
    await wire.create("s")
    await wire.append("s", user(), reply(), user(), reply())
    await wire.append("s", reply("shorter", surface=replacing(2, 2)))
    await wire.expect_surface("s", [1, 5, 3, 4])
    for first, last in ((3, 5), (2, 3), (4, 1)):
        failure = await wire.refused("s", reply(surface=replacing(first, last)))
        assert (failure.code, failure.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "BAD_SURFACE_RANGE")
        assert failure.metadata == {"start_sequence": str(first), "end_sequence": str(last)}
    await wire.append("s", checkpoint(5, 3))
    await wire.expect_surface("s", [1, 6, 4])


async def test_rule_26_a_replacement_must_not_part_a_call_from_its_result(wire: Wire):
    """Taking off either half; not both, and not where the other half was gone already."""
    await wire.create("s")
    await wire.append("s", user(), call("a"), result("a"), reply(), call("b"), result("b"))
    for first, last in ((1, 2), (3, 4), (3, 5), (6, 6)):
        assert (await wire.refused("s", checkpoint(first, last))).reason == "BAD_SURFACE_RANGE", (first, last)
    await wire.expect_surface("s", [1, 2, 3, 4, 5, 6])
    await wire.append("s", checkpoint(1, 3))
    await wire.expect_surface("s", [7, 4, 5, 6])
    await wire.append("s", rewind(5))
    await wire.append("s", checkpoint(4, 5))
    await wire.expect_surface("s", [7, 9])


async def test_rule_26_a_result_may_be_replaced_by_a_shorter_one_of_the_same_call(wire: Wire):
    """So may a call; another call's result does not do."""
    await wire.create("s")
    await wire.append("s", user(), call("a"), result("a", "long"))
    await wire.append("s", result("a", "short", surface=replacing(3, 3)))
    assert (await wire.refused("s", result("b", "short", surface=replacing(4, 4)))).reason == "BAD_SURFACE_RANGE"
    await wire.append("s", call("a", surface=replacing(2, 2)))
    await wire.expect_surface("s", [1, 5, 4])


async def test_rule_26_a_call_under_a_used_id_is_no_half_of_the_pair_that_was_taken(wire: Wire):
    """It came after both had gone; but what is left of a pair is left, whatever comes under its id."""
    await wire.create("s")
    await wire.append("s", user(), call("a"), result("a"))
    await wire.append("s", checkpoint(1, 3), call("a"))
    await wire.expect_surface("s", [4, 5])
    await wire.append("s", result("a"))
    assert (await wire.refused("s", note(surface=replacing(5, 5)), result("a"))).reason == "BAD_SURFACE_RANGE"
    shortened = result("a", surface=replacing(6, 6))
    failure = await wire.refused("s", shortened, note(surface=replacing(5, 5)))
    assert failure.metadata == {"start_sequence": "5", "end_sequence": "5"}
    assert (await wire.refused("s", note(surface=replacing(5, 5)), call("a"))).reason == "BAD_SURFACE_RANGE"
    await wire.append("s", note(surface=replacing(5, 6)), call("a"), result("a"))
    await wire.expect_surface("s", [4, 7, 8, 9])


async def test_rule_26_it_is_judged_after_the_whole_append(wire: Wire):
    """What one replacement takes, another of the same append may give back or take the rest of."""
    await wire.create("s")
    await wire.append("s", user(), call("a"), result("a"), reply())
    await wire.append("s", note("n", surface=replacing(1, 2)), note("r", surface=replacing(3, 4)))
    await wire.expect_surface("s", [5, 6])
    await wire.append("s", call("b"), result("b"))
    await wire.append("s", note(surface=replacing(8, 8)), result("b", "again"))
    await wire.expect_surface("s", [5, 6, 7, 9, 10])
    failure = await wire.refused("s", note(surface=replacing(7, 7)), user())
    assert failure.reason == "BAD_SURFACE_RANGE"
    assert failure.metadata == {"start_sequence": "7", "end_sequence": "7"}


async def test_rule_26_orphans_that_are_there_already_are_left_as_they_are(wire: Wire):
    """A call without a result may be replaced, and a rewind may part a pair."""
    await wire.create("s")
    await wire.append("s", user(), call("a"), result("lost"), call("b"), result("b"))
    await wire.append("s", note(surface=replacing(1, 2)), note(surface=replacing(3, 3)))
    await wire.append("s", rewind(4))
    await wire.expect_surface("s", [6, 7, 4])


async def test_rule_26_n_rows_for_more_are_n_replacements_of_adjacent_ranges(wire: Wire):
    """In one append; a later one may name an earlier one of it."""
    await wire.create("s")
    await wire.append("s", *(user(f"{n}") for n in range(6)))
    await wire.append("s", checkpoint(1, 2), checkpoint(3, 6))
    await wire.expect_surface("s", [7, 8])
    await wire.append("s", user("x", surface=replacing(8, 8)), user("y", surface=replacing(7, 9)))
    await wire.expect_surface("s", [10])
