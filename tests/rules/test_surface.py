"""The interval tree's node, and what pairs a tool call with its result (rules 24 and 26)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from semantics.rows import call, reply, result, user
from semantics.world import THOROUGH, examples

from transcript.v1.event_pb2 import Event
from transcript_server.rules.surface import ToolRow, call_id, fork_node, paired, path

SMALL = 200 if THOROUGH else 70


def divisions(number: int) -> int:
    """How often two divides a number."""
    return (number & -number).bit_length() - 1


def path_to(point: int, bits: int) -> set[int]:
    """The nodes that a search for a point looks at: from the tree's root, halving the step, down to the point."""
    node, step, path = 1 << bits - 1, 1 << bits - 2, set()
    while True:
        path.add(node)
        if node == point or not step:
            return path
        node += step if point > node else -step
        step >>= 1


def test_rule_24_an_intervals_node_lies_in_it_and_is_the_one_that_two_divides_most_often() -> None:
    """By trying all small intervals against all of their points."""
    for first in range(1, SMALL):
        for last in range(first, SMALL):
            node = fork_node(first, last)
            most = max(divisions(number) for number in range(first, last + 1))
            assert [number for number in range(first, last + 1) if divisions(number) == most] == [node], (first, last)


def test_rule_24_every_interval_that_holds_a_point_has_its_node_on_the_points_path() -> None:
    """So that one probe for each bit finds them all."""
    bits = SMALL.bit_length()
    paths = {point: path_to(point, bits) for point in range(1, SMALL)}
    for first in range(1, SMALL):
        for last in range(first, SMALL):
            node = fork_node(first, last)
            assert all(node in paths[point] for point in range(first, last + 1)), (first, last)


def test_rule_24_the_nodes_that_are_probed_are_the_points_path_as_far_as_intervals_reach() -> None:
    """Each once; those beyond the journal's last row keep nothing."""
    bits = SMALL.bit_length()
    for last in range(1, SMALL):
        for point in range(1, last + 1):
            probed = [*path(point, last)]
            assert sorted(probed) == sorted(node for node in path_to(point, bits) if node <= last), (point, last)
            assert len(probed) <= last.bit_length()


@examples(100)
@given(st.integers(1, (1 << 32) - 1), st.integers(0, (1 << 32) - 1))
def test_rule_24_a_node_is_found_for_any_sequences(first: int, length: int) -> None:
    """As far as a journal may reach."""
    last = min(first + length, (1 << 32) - 1)
    node = fork_node(first, last)

    assert first <= node <= last
    step = 1 << divisions(node)
    assert node - step < first, "there is nothing before it that two divides as often"
    assert node + step > last, "nor after it"


@pytest.mark.parametrize(
    ("row", "pairing"),
    [
        (call("c1"), ("c1", False)),
        (result("c1"), ("c1", True)),
        (call(""), None),
        (result(""), None),
        (user(), None),
        (reply(), None),
        (Event(), None),
    ],
    ids=["call", "result", "call without id", "result without id", "prompt", "reply", "nothing"],
)
def test_rule_26_a_tools_rows_are_paired_by_the_calls_id(row: Event, pairing: tuple[str, bool] | None) -> None:
    """Rows without one are nobody's half."""
    assert call_id(row) == pairing


@pytest.mark.parametrize(
    ("rows", "whole"),
    [
        ("", ""),
        ("r", ""),
        ("c", ""),
        ("rr", ""),
        ("cr", "12"),
        ("rc", ""),
        ("crc", "12"),
        ("rcr", "23"),
        ("ccrr", "1234"),
    ],
)
def test_rule_26_a_result_belongs_to_a_call_that_stands_before_it(rows: str, whole: str) -> None:
    """c and r: calls and results under one id, in the surface's order; told are those that have their other half."""
    standing = [ToolRow(10 * number, number, kind == "r") for number, kind in enumerate(rows, 1)]
    assert paired(standing) == {int(number) for number in whole}
