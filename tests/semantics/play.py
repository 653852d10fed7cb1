"""Plays a history on the server and on the model, and holds one against the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import grpc.aio

from transcript.v1.event_pb2 import Event
from transcript.v1.journal_service_pb2 import (
    AddNoteRequest,
    AddSectionMarkerRequest,
    AppendEventsRequest,
    ResetContextRequest,
)

from . import turns
from .concrete import Maker, Request
from .facts import has_text_of_its_own, kind
from .histories import Step
from .oracle import Answer, Journal
from .refused import Refused
from .wire import Wire, bytes_of, taken_apart


def as_events(request: Request) -> list[Event]:
    """The rows that a request brings, whichever RPC it is."""
    if isinstance(request, AppendEventsRequest):
        return list(request.events)
    event = Event(id=request.event_id)
    if isinstance(request, AddSectionMarkerRequest):
        marker = event.section_marker
        marker.label, marker.source = request.label, request.source
        if request.HasField("collapse_earlier"):
            marker.collapse_earlier = request.collapse_earlier
    elif isinstance(request, AddNoteRequest):
        event.note.CopyFrom(request.note)
    else:
        event.context_reset.reason = request.reason
    event.SetInParent()
    return [event]


class Player:
    """One session, here and there."""

    def __init__(self, wire: Wire, session_id: str, model: Journal | None = None) -> None:
        self.wire = wire
        self.session_id = session_id
        self.model = model or Journal()
        self.maker = Maker(session_id)
        self.accepted = 0

    async def play(self, steps: Iterable[Step]) -> None:
        """Every step, with its answer compared."""
        for step in steps:
            await self.ask(self.maker.request(step, self.model))

    async def ask(self, request: Request) -> None:
        """One request to both."""
        expected = self.of_the_model(request)
        try:
            sequences, event_ids, latest = await self.of_the_server(request)
        except grpc.aio.AioRpcError as error:
            self.compare_failure(error, expected)
            return
        assert isinstance(expected, Answer), f"the model refuses this: {expected}\n{request}"
        self.model.learn_ids(expected, event_ids)
        self.accepted += 1
        assert sequences == expected.sequences
        assert latest in {None, expected.latest_sequence}
        assert all(event_ids)
        for event, event_id in zip(as_events(request), event_ids, strict=True):
            assert event.id in {"", event_id}

    def of_the_model(self, request: Request) -> Answer | Refused:
        """What the rules say."""
        appended = isinstance(request, AppendEventsRequest)
        expected = None
        if appended and request.HasField("expected_latest_sequence"):
            expected = request.expected_latest_sequence
        try:
            return self.model.append(
                as_events(request), as_recorded=appended and request.as_recorded, expected=expected
            )
        except Refused as refused:
            return refused

    async def of_the_server(self, request: Request) -> tuple[list[int], list[str], int | None]:
        """What the server says."""
        journal = self.wire.journal
        if isinstance(request, AppendEventsRequest):
            answer = await journal.AppendEvents(request)
            return list(answer.sequences), list(answer.event_ids), answer.latest_sequence
        if isinstance(request, AddSectionMarkerRequest):
            answer = await journal.AddSectionMarker(request)
        elif isinstance(request, AddNoteRequest):
            answer = await journal.AddNote(request)
        else:
            assert isinstance(request, ResetContextRequest)
            answer = await journal.ResetContext(request)
        assert answer.held == (answer.sequence == 0)
        return [answer.sequence], [answer.event_id], None

    def compare_failure(self, error: grpc.aio.AioRpcError, expected: Answer | Refused) -> None:
        """The same refusal."""
        failure = taken_apart(error)
        assert isinstance(expected, Refused), f"the server refuses what the rules allow: {failure}"
        assert (failure.code, failure.reason) == (expected.code, expected.reason), failure
        if expected.reason != "BAD_SURFACE_RANGE":
            assert expected.metadata.items() <= failure.metadata.items()

    async def check_rows(self) -> None:
        """The server's rows say what the model's say; from here on the model has them as the server keeps them."""
        actual = await self.wire.rows(self.session_id)
        compare_rows(actual, self.model)
        self.model.learn_rows(actual)

    async def check_session(self) -> None:
        """What the journal amounts to."""
        model = self.model
        stand = turns.fold(model.events())
        session = await self.wire.session(self.session_id)
        assert session.latest_sequence == model.tip
        assert session.latest_turn == stand.latest
        assert session.running == stand.running
        assert session.held_row_count == len(model.held)
        assert session.open_request_count == len(turns.waiting(model.events()))
        assert session.message_count == model.message_count
        usage = session.usage
        assert (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens) == model.usage()
        last = model.last_prompt
        assert session.HasField("last_prompt_at") == (last is not None)
        if last is not None and last.as_recorded:
            assert session.last_prompt_at == last.event.time
        elif last is not None:
            assert session.last_prompt_at == last.event.recorded_at
        if model.rows:
            assert session.last_recorded_at == model.rows[-1].event.recorded_at


def compare_rows(actual: Sequence[Event], model: Journal) -> None:
    """Rules 1, 3, 6: the rows as they lie, but for what the server alone knows."""
    assert [row.sequence for row in actual] == list(range(1, len(actual) + 1))
    recorded = [row.recorded_at.ToNanoseconds() for row in actual]
    assert recorded == sorted(recorded)
    assert [kind(row) for row in actual] == [kind(row.event) for row in model.rows]
    assert [row.turn for row in actual] == [row.event.turn for row in model.rows]
    expected = [bare(row.event, row.event) for row in model.rows]
    assert bytes_of(bare(row, like.event) for row, like in zip(actual, model.rows, strict=True)) == bytes_of(expected)
    for row in actual:
        assert row.id
        assert row.HasField("time")
        assert row.HasField("recorded_at")
        assert bool(row.fallback) == (not has_text_of_its_own(kind(row))), row


def bare(row: Event, like: Event) -> Event:
    """The row without what the model cannot know of it yet."""
    copy = Event()
    copy.CopyFrom(row)
    if not like.id:
        copy.ClearField("id")
    if not like.HasField("time"):
        copy.ClearField("time")
    if not like.HasField("recorded_at"):
        copy.ClearField("recorded_at")
    if kind(copy) != "section_marker":
        copy.ClearField("fallback")
    if kind(copy) == "turn_started" and not like.turn_started.HasField("idle_timeout"):
        copy.turn_started.ClearField("idle_timeout")
    return copy
