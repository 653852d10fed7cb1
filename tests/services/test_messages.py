"""Responses put together from stored bytes are byte by byte what Protobuf writes; and rows stream in bounded parts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from journal.callers import Caller, events_of
from journal.stores import Clock, SqliteStore
from semantics.rows import marker, reply, user
from semantics.world import examples

from transcript.v1.event_pb2 import Event
from transcript.v1.live_pb2 import LiveUpdate
from transcript.v1.session_pb2 import Session
from transcript.v1.transcript_service_pb2 import (
    CaughtUp,
    EventBatch,
    HiddenSections,
    PageInfo,
    ReadPageResponse,
    WatchResponse,
)
from transcript_server.journal.journal import Face, Rows, Span
from transcript_server.services.messages import (
    caught_up_field,
    hidden_field,
    live_message,
    page_message,
    rows_message,
    sessions_field,
    stream_rows,
)

SEQUENCES = st.integers(0, (1 << 62))
SIZES = st.sampled_from([0, 1, 100, 127, 128, 20_000])
EVENTS = st.lists(st.builds(lambda size, sequence: reply("x" * size, sequence=sequence), SIZES, SEQUENCES), max_size=4)
INFOS = st.builds(
    PageInfo,
    oldest_sequence=SEQUENCES,
    has_more=st.booleans(),
    latest_sequence=SEQUENCES,
    open_request_sequences=st.lists(SEQUENCES, max_size=3),
    journal_id=st.text(max_size=5),
)
BARS = st.builds(HiddenSections, count=st.integers(0, 99), labels=st.lists(st.text(max_size=5), max_size=3))
SESSIONS = st.lists(st.builds(lambda name, size: Session(id=name, title="t" * size), st.text("ab"), SIZES), max_size=3)


def stored(events: list[Event]) -> Rows:
    """Rows as the journal gives them."""
    return Rows(EventBatch(events=events).SerializeToString(), len(events), ())


@examples(50)
@given(INFOS, EVENTS)
def test_a_pages_first_message_is_as_protobuf_writes_it(info: PageInfo, events: list[Event]) -> None:
    """For a page and for a watch alike; an empty page has no batch."""
    batch = EventBatch(events=events) if events else None

    for response in (ReadPageResponse, WatchResponse):
        assert page_message(info, stored(events)) == response(page=info, events=batch).SerializeToString()
        assert rows_message(stored(events)) == response(events=batch).SerializeToString()


@examples(50)
@given(EVENTS, st.none() | SEQUENCES, st.none() | BARS, SESSIONS)
def test_the_parts_of_a_watchs_message_add_up_to_the_message(
    events: list[Event], caught_up: int | None, bar: HiddenSections | None, sessions: list[Session]
) -> None:
    """In the order of their numbers, each there or not."""
    parts = rows_message(stored(events))
    message = WatchResponse(events=EventBatch(events=events) if events else None, sessions=sessions)
    if caught_up is not None:
        message.caught_up.latest_sequence = caught_up
        parts += caught_up_field(CaughtUp(latest_sequence=caught_up).SerializeToString())
    if bar is not None:
        message.hidden_sections.CopyFrom(bar)
        parts += hidden_field(bar.SerializeToString())
    parts += sessions_field([session.SerializeToString() for session in sessions])

    assert parts == message.SerializeToString()


def test_live_text_is_as_protobuf_writes_it() -> None:
    """As it was published."""
    live = LiveUpdate(event_id="e", offset=3, text_delta="abc")

    assert live_message(live.SerializeToString()) == WatchResponse(live=live).SerializeToString()
    assert hidden_field(b"") == WatchResponse(hidden_sections=HiddenSections()).SerializeToString()


@pytest.fixture
async def caller(tmp_path: Path) -> AsyncIterator[Caller]:
    """A journal with rows of many sizes."""
    store = SqliteStore(tmp_path / "data")
    caller = Caller(await store.open(Clock()))
    await caller.create()
    await caller.append("s", *[user("x" * size) for size in (10, 5_000, 200, 90_000, 10, 1)], marker(), *[reply()] * 50)
    yield caller
    await store.close()


@pytest.mark.parametrize("budget", [1, 300, 6_000, 1 << 20])
async def test_rows_of_spans_come_whole_and_in_order_in_parts_that_fit(caller: Caller, budget: int) -> None:
    """Empty spans, and such as show nothing, are passed over."""
    place = await caller.place()
    spans = [
        Span(Face.KEPT, 1, 3), Span(Face.KEPT, 5, 4), Span(Face.HUMAN, 4, 9), Span(Face.JOURNAL, 20, 20),
        Span(Face.KEPT, 30, 57),
    ]  # fmt: skip
    seen: list[int] = []
    async for rows in stream_rows(caller.journal, caller.who, place, spans, budget):
        assert rows.count
        assert len(rows.batch) <= budget or rows.count == 1
        seen += [event.sequence for event in events_of(rows)]

    assert seen == [*range(1, 10), 20, *range(30, 58)]


async def test_one_part_is_read_ahead_and_no_more(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a client is slow, what waits for it does not grow; what was read in vain is let go."""
    asked: list[int] = []
    rows_of = caller.journal.rows

    async def counted(who, place, spans, budget):
        asked.append(spans[0].first)
        return await rows_of(who, place, spans, budget)

    monkeypatch.setattr(caller.journal, "rows", counted)
    stream = stream_rows(caller.journal, caller.who, await caller.place(), [Span(Face.JOURNAL, 1, 57)], 1)
    for taken in range(1, 6):
        rows = await anext(stream)
        assert [event.sequence for event in events_of(rows)] == [taken]
        for _ in range(3):
            await caller.append("s", user())
        assert asked == [*range(1, taken + 2)]
    await stream.aclose()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not [task for task in others if "rows" in str(task.get_coro())]


async def test_rows_of_a_session_that_is_deleted_meanwhile_end_in_a_refusal(caller: Caller) -> None:
    """Never in a shorter page."""
    stream = stream_rows(caller.journal, caller.who, await caller.place(), [Span(Face.JOURNAL, 1, 57)], 1)
    await anext(stream)
    await caller.journal.delete_session(caller.who, "s")
    with pytest.raises(Exception, match="session s not found"):
        async for _ in stream:
            pass
