"""Rules 12 and 13, as far as they count: the bar over a transcript."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from semantics.world import examples

from transcript_server.rules.limits import HIDDEN_LABELS
from transcript_server.rules.sections import hidden_sections


@pytest.mark.parametrize(
    ("ordinal", "opening", "count"), [(1, False, 0), (1, True, 1), (2, False, 1), (2, True, 2), (40, True, 40)]
)
def test_rule_12_the_opening_section_counts_only_if_it_has_a_kept_row(ordinal: int, opening: bool, count: int) -> None:
    """One for each marker before, and that one."""
    assert hidden_sections(9, ordinal, ["a"] * (ordinal - 1), opening=opening).count == count


def test_rule_13_the_bar_names_the_hidden_sections_oldest_first() -> None:
    """The opening one has no label, nor may others have; the collapsing marker's own is not hidden."""
    hidden = hidden_sections(30, 4, ["one", "", "three"], opening=True)

    assert (hidden.count, [*hidden.labels], hidden.marker_sequence) == (4, ["", "one", "", "three"], 30)


@examples(60)
@given(st.integers(0, 80), st.booleans())
def test_rule_13_the_bar_names_the_latest_32_at_most(markers: int, opening: bool) -> None:
    """The count is of all."""
    labels = [f"section {number}" for number in range(1, markers + 1)]
    # What a store reads: the latest 32 labels of the markers before the collapsing one.
    hidden = hidden_sections(999, markers + 1, labels[-HIDDEN_LABELS:], opening=opening)

    assert hidden.count == markers + opening
    assert [*hidden.labels] == ([""] * opening + labels)[-HIDDEN_LABELS:]
