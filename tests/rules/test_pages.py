"""Rules 15 to 19, as far as they cut a list of rows; and what a request for a page comes to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st
from semantics.world import examples

from transcript.v1.transcript_service_pb2 import VIEW_COMPACT, VIEW_FULL, VIEW_JOURNAL, VIEW_UNSPECIFIED
from transcript_server.rules import limits
from transcript_server.rules.errors import Refusal
from transcript_server.rules.pages import IndexedRow, page_request, whole_turns

MANY, BYTES = 7, 100
"""Limits of a page that random rows reach, in place of the real ones."""


def rows_of(*turns: int, size: int = 10) -> list[IndexedRow]:
    """Turns of so many rows, newest first; the first row of each is a message."""
    made = [
        IndexedRow(0, turn, place == 0, size) for turn, count in enumerate(reversed(turns)) for place in range(count)
    ]
    numbered = [row._replace(sequence=number) for number, row in enumerate(made, start=1)]
    return numbered[::-1]


def sequences(rows: list[IndexedRow]) -> list[int]:
    return [row.sequence for row in rows]


RANDOM_ROWS = st.lists(
    st.lists(st.tuples(st.booleans(), st.sampled_from([1, 10, 40, BYTES, BYTES + 1])), min_size=1, max_size=9),
    max_size=6,
).map(
    lambda turns: [
        IndexedRow(number, turn, message, size)
        for number, (turn, message, size) in enumerate(
            ((turn, *row) for turn, rows in enumerate(turns) for row in rows), start=1
        )
    ]
)


@examples(100)
@given(RANDOM_ROWS, st.integers(1, 5))
def test_rule_15_a_compact_page_is_whole_turns_until_it_has_its_messages(rows: list[IndexedRow], wanted: int) -> None:
    """It stops before a turn that would bring it past its limits; only its first turn, if alone too big, is cut."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(limits, "COMPACT_PAGE_ROWS", MANY)
        patched.setattr(limits, "COMPACT_PAGE_BYTES", BYTES)
        page = whole_turns(rows, wanted)

    taken = rows[: len(page)]
    assert page == sequences(taken), "the first rows, in their order"
    assert bool(page) == bool(rows)
    turns = [[*turn] for _, turn in groupby(rows, lambda row: row.turn)]
    ends = [*accumulate(map(len, turns))]
    size, messages = sum(row.size for row in taken), sum(row.message for row in taken)
    fits = len(taken) <= MANY and size <= BYTES
    assert fits or len(taken) == 1, "a page holds one row, however large"
    if len(page) in ends:
        whole = turns[: ends.index(len(page)) + 1]
        assert sum(row.message for turn in whole[:-1] for row in turn) < wanted, "it goes no further than it must"
        following = turns[len(whole) : len(whole) + 1]
        if following and messages < wanted:
            (following_turn,) = following
            together = taken + following_turn
            assert len(together) > MANY or sum(row.size for row in together) > BYTES
    elif page:
        assert len(page) < ends[0], "only the first turn is cut"
        more = rows[: len(page) + 1]
        assert len(more) > MANY or sum(row.size for row in more) > BYTES, "and no earlier than it must"


def test_rule_15_the_turn_that_has_the_last_message_wanted_is_taken_whole() -> None:
    """So a page never begins between a prompt and its reply."""
    assert len(whole_turns(rows_of(3, 4, 5), 1)) == 3
    assert len(whole_turns(rows_of(3, 4, 5), 2)) == 7
    assert len(whole_turns(rows_of(3, 4, 5), 9)) == 12


def test_rule_15_a_page_stops_before_the_turn_that_would_bring_it_past_1000_rows() -> None:
    """1000 rows may be on it, and not one more."""
    assert len(whole_turns(rows_of(400, 600, 1), 40)) == 1000
    assert len(whole_turns(rows_of(400, 601), 40)) == 400


def test_rule_15_a_page_stops_before_the_turn_that_would_bring_it_past_4_mib() -> None:
    """As served."""
    half = limits.COMPACT_PAGE_BYTES // 2
    assert len(whole_turns(rows_of(1, 1, 1, size=half), 40)) == 2
    assert len(whole_turns(rows_of(1, 1, size=half + 1), 40)) == 1


def test_rule_15_only_a_newest_turn_that_alone_is_too_big_is_cut() -> None:
    """At its far end; a turn of one row is on the page, however large."""
    rows = rows_of(1500, 3)
    assert whole_turns(rows, 40) == sequences(rows)[:1000]
    assert whole_turns(rows_of(1, size=limits.COMPACT_PAGE_BYTES + 1), 40) == [1]


def test_rule_22_no_more_of_the_index_is_read_than_the_page_needs() -> None:
    """One row beyond it, to see that a turn is over."""
    read = 0

    def counted(rows: list[IndexedRow]) -> Iterator[IndexedRow]:
        nonlocal read
        for row in rows:
            read += 1
            yield row

    # Whole turns; a first turn that is cut; a second turn that is found to be too big.
    for rows, messages, enough in [
        (rows_of(*[3] * 1000), 2, 6),
        (rows_of(5000), 1, limits.COMPACT_PAGE_ROWS),
        (rows_of(5000, 3), 2, limits.COMPACT_PAGE_ROWS),
    ]:
        read = 0
        whole_turns(counted(rows), messages)
        assert read == enough + 1


@pytest.mark.parametrize(
    ("view", "asked", "size"),
    [
        (VIEW_UNSPECIFIED, 0, 40),
        (VIEW_COMPACT, 0, 40),
        (VIEW_FULL, 0, 100),
        (VIEW_JOURNAL, 0, 100),
        (VIEW_COMPACT, 7, 7),
        (VIEW_FULL, 1000, 1000),
        (VIEW_FULL, 1001, 1000),
        (VIEW_COMPACT, 2**31 - 1, 1000),
    ],
)
def test_rule_5_a_page_size_has_a_default_and_a_limit(view: int, asked: int, size: int) -> None:
    """One above the limit counts as the limit."""
    request = page_request(view=view, page_size=asked)

    assert request.size == size
    assert request.view == (view or VIEW_COMPACT)


def test_rule_16_before_and_after_exclude_each_other() -> None:
    """Also after the row 0, which is a place."""
    for after in (0, 5):
        with pytest.raises(Refusal) as caught:
            page_request(view=VIEW_FULL, before_sequence=3, after_sequence=after)
        assert caught.value.reason_name == "INVALID_FIELD"


@pytest.mark.parametrize(
    ("fields", "tip", "horizon"),
    [
        ({}, 9, 9),
        ({"as_of_sequence": 4}, 9, 4),
        ({"as_of_sequence": 9}, 9, 9),
        ({"as_of_sequence": 10}, 9, "as_of_sequence"),
        ({"after_sequence": 9}, 9, 9),
        ({"after_sequence": 10}, 9, "after_sequence"),
        ({"after_sequence": 4, "as_of_sequence": 4}, 9, 4),
        ({"after_sequence": 5, "as_of_sequence": 4}, 9, "after_sequence"),
        ({"before_sequence": 999}, 9, 9),
        ({}, 0, 0),
        ({"after_sequence": 0}, 0, 0),
    ],
)
def test_rule_16_what_lies_beyond_is_out_of_range(fields: dict[str, int], tip: int, horizon: int | str) -> None:
    """All but `before_sequence`, which reads from the tip then; the first place that is too far is named."""
    request = page_request(view=VIEW_FULL, **fields)
    if isinstance(horizon, int):
        assert request.horizon(tip) == horizon
        return
    with pytest.raises(Refusal) as caught:
        request.horizon(tip)
    assert caught.value.reason_name == "SEQUENCE_AHEAD"
    assert caught.value.message.startswith(f"{horizon} is ")
    assert caught.value.metadata == {
        "sequence": str(fields[horizon]),
        "latest_sequence": str(min(tip, fields.get("as_of_sequence", tip)) if horizon == "after_sequence" else tip),
    }


@pytest.mark.parametrize(
    ("fields", "expanded"),
    [
        ({"view": VIEW_COMPACT}, False),
        ({"view": VIEW_FULL}, False),
        ({"view": VIEW_JOURNAL}, True),
        ({"view": VIEW_COMPACT, "expand_sections": True}, True),
        ({"view": VIEW_COMPACT, "after_sequence": 0}, True),
        ({"view": VIEW_COMPACT, "before_sequence": 4}, False),
    ],
)
def test_rule_13_what_is_never_collapsed(fields: dict[str, int], expanded: bool) -> None:
    """The journal view, pages by `after_sequence`, and where it is asked for."""
    assert page_request(**fields).expanded is expanded
