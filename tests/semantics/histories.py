"""Random histories for hypothesis: lists of steps that name things by where they stand, not by number.

A step is made concrete (`concrete.py`) against the model at the moment it is
played, so that ranges, calls and requests mostly exist and sometimes do not.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from transcript.v1.event_pb2 import UserMessage

PLAIN = (
    "thinking",
    "error_report",
    "status",
    "subagent_started",
    "subagent_completed",
    "subagent_terminated",
    "compaction_started",
    "compaction_summary",
    "compaction_ended",
    "system_message",
    "input_receipt",
    "foreign_record",
)
SURFACING = ("user_message", "assistant_message", "thinking", "tool_result", "note", "system_message")
LABELS = ("", "first item", "second item", "Ame\u0301lie", "\u7ae0", "\U0001f469\u200d\U0001f52c lab")


@dataclass(frozen=True)
class RowSpec:
    """A row to be: `pick`, `low` and `high` choose among what there is when it is played."""

    kind: str
    surface: str = ""
    pick: int = 0
    low: int = 0
    high: int = 0
    careful: bool = True
    origin: int = 0
    named: bool = True
    timed: bool = False
    large: bool = False


@dataclass(frozen=True)
class Append:
    """AppendEvents."""

    rows: tuple[RowSpec, ...]
    as_recorded: bool = False
    expected: str = ""
    twice: bool = False


@dataclass(frozen=True)
class Retry:
    """An earlier row again: the same, or under its id something else; perhaps with a new row behind it."""

    pick: int
    change: str = ""
    then: RowSpec | None = None
    expected: str = ""


@dataclass(frozen=True)
class Call:
    """AddSectionMarker, AddNote or ResetContext."""

    rpc: str
    pick: int = 0
    collapse: bool | None = None
    named: bool = True


Step = Append | Retry | Call

small = st.integers(0, 7)
origins = st.sampled_from(
    [UserMessage.ORIGIN_UNSPECIFIED] * 4
    + [UserMessage.ORIGIN_HUMAN] * 2
    + [UserMessage.ORIGIN_STEERING] * 3
    + [UserMessage.ORIGIN_NUDGE, UserMessage.ORIGIN_AUTOMATION]
)


def row_of(kinds: tuple[str, ...], surfaces: tuple[str, ...] = ("",)) -> st.SearchStrategy[RowSpec]:
    """A row of one of these kinds with one of these surface operations."""
    return st.builds(
        RowSpec,
        kind=st.sampled_from(kinds),
        surface=st.sampled_from(surfaces),
        pick=small,
        low=st.integers(0, 40),
        high=small,
        careful=st.sampled_from([True, True, True, False]),
        origin=origins,
        named=st.sampled_from([True, True, True, False]),
        timed=st.sampled_from([False, False, False, True]),
        large=st.sampled_from([False] * 39 + [True]),
    )


TALK = ("user_message", "assistant_message", "tool_call", "tool_result")
HELD = ("section_marker", "note", "context_reset", "section_marker")
ASKING = ("human_request", "human_response", "human_request")
TURNING = ("turn_started", "turn_ended")

rows = st.one_of(
    row_of(TALK),
    row_of(TALK),
    row_of(HELD),
    row_of(TURNING),
    row_of(ASKING),
    row_of(PLAIN),
    row_of(SURFACING, ("log_only", "append")),
    row_of(SURFACING, ("replace",)),
    row_of(("compaction_checkpoint",), ("replace",)),
    row_of(("rewind",)),
)


def idiom(*kinds: str) -> st.SearchStrategy[tuple[RowSpec, ...]]:
    """Rows that a runner sends together."""
    return st.tuples(*(row_of((kind,)) for kind in kinds))


batches = st.one_of(
    st.lists(rows, min_size=1, max_size=5).map(tuple),
    st.lists(rows, min_size=1, max_size=2).map(tuple),
    idiom("user_message", "turn_started"),
    idiom("turn_started", "user_message"),
    idiom("user_message", "assistant_message"),
    idiom("tool_call", "tool_result", "assistant_message"),
    idiom("tool_call"),
    idiom("user_message"),
    idiom("assistant_message", "turn_ended"),
    idiom("section_marker"),
    idiom("compaction_started", "compaction_summary", "compaction_ended"),
    st.tuples(row_of(("compaction_summary",)), row_of(("compaction_checkpoint",), ("replace",))),
    st.tuples(row_of(("tool_result",), ("replace",)), row_of(("tool_result",), ("replace",))),
)
expectations = st.sampled_from([""] * 8 + ["right", "wrong"])
appends = st.builds(
    Append,
    rows=batches,
    as_recorded=st.sampled_from([False] * 7 + [True]),
    expected=expectations,
    twice=st.sampled_from([False] * 15 + [True]),
)
retries = st.builds(
    Retry,
    pick=st.integers(0, 60),
    change=st.sampled_from(["", "", "", "content", "time", "learned time"]),
    then=st.none() | rows,
    expected=expectations,
)
rpcs = st.builds(
    Call,
    rpc=st.sampled_from(["AddSectionMarker", "AddSectionMarker", "AddNote", "ResetContext"]),
    pick=small,
    collapse=st.sampled_from([None, None, True, False]),
    named=st.booleans(),
)
steps = st.one_of(appends, appends, appends, appends, appends, retries, rpcs)


def histories(most: int = 16) -> st.SearchStrategy[list[Step]]:
    """A session's life."""
    return st.lists(steps, min_size=1, max_size=most)


def long_enough(least: int = 6, most: int = 20) -> st.SearchStrategy[list[Step]]:
    """One that is worth paging."""
    return st.lists(steps, min_size=least, max_size=most)
