"""Steps made concrete: rows and requests, given how the session stands."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from transcript.v1.event_pb2 import (
    AppendOp,
    Event,
    HumanRequest,
    HumanResponse,
    LogOnlyOp,
    ReplaceOp,
    TokenUsage,
    TurnEnded,
    UserMessage,
)
from transcript.v1.journal_service_pb2 import (
    AddNoteRequest,
    AddSectionMarkerRequest,
    AppendEventsRequest,
    ResetContextRequest,
)

from . import surface
from .facts import KINDS, facts, has_text_of_its_own, kind
from .histories import LABELS, Append, Call, Retry, RowSpec
from .oracle import Journal
from .refused import Refused

EPOCH = 1_700_000_000
Request = AppendEventsRequest | AddSectionMarkerRequest | AddNoteRequest | ResetContextRequest


class Maker:
    """Makes requests for one session; counts, so that every id and text is its own."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.count = 0
        self.sent: list[Event] = []

    def request(self, step: Append | Retry | Call, model: Journal) -> Request:
        """The step as a request."""
        if isinstance(step, Call):
            return self.call(step)
        events = self.again(step, model) if isinstance(step, Retry) else []
        events += self.batch(step.rows if isinstance(step, Append) else [step.then] if step.then else [], model)
        if isinstance(step, Append) and step.twice and events[-1].id:
            events.append(events[-1])
        if not events:
            events = [self.row(RowSpec("status"), model)]
        request = AppendEventsRequest(session_id=self.session_id, events=events)
        request.as_recorded = isinstance(step, Append) and step.as_recorded
        if step.expected:
            request.expected_latest_sequence = model.tip if step.expected == "right" else model.tip + 1
        self.sent += [event for event in events if event.id]
        return request

    def batch(self, specs: Sequence[RowSpec], model: Journal) -> list[Event]:
        """Rows, each seeing what those before it did."""
        events: list[Event] = []
        for spec in specs:
            trial = model.copy()
            try:
                trial.append(events)
            except Refused:
                trial = model.copy()
            events.append(self.row(spec, trial))
        return events

    def again(self, step: Retry, model: Journal) -> list[Event]:
        """A row that was sent before."""
        if not self.sent:
            return []
        event = Event()
        event.CopyFrom(self.sent[step.pick % len(self.sent)])
        stored = next((row.event for row in model.rows if row.event.id == event.id), None)
        if step.change == "content":
            change(event)
        elif step.change == "time":
            event.time.CopyFrom(Timestamp(seconds=EPOCH - 1))
        elif step.change == "learned time" and stored is not None and stored.HasField("time"):
            event.time.CopyFrom(stored.time)
        return [event]

    def call(self, step: Call) -> Request:
        """One of the RPCs that bring a held row."""
        self.count += 1
        event_id = f"call-{self.count}" if step.named else ""
        if step.rpc == "AddNote":
            request = AddNoteRequest(session_id=self.session_id, event_id=event_id)
            request.note.text = f"note {self.count}"
            return request
        if step.rpc == "ResetContext":
            return ResetContextRequest(session_id=self.session_id, reason=f"reset {self.count}", event_id=event_id)
        return AddSectionMarkerRequest(
            session_id=self.session_id,
            label=LABELS[step.pick % len(LABELS)],
            collapse_earlier=step.collapse,
            source="walk",
            event_id=event_id,
        )

    def row(self, spec: RowSpec, model: Journal) -> Event:
        """One row."""
        self.count += 1
        event = Event()
        self.fill(event, spec, model)
        if spec.named:
            event.id = f"row-{self.count}"
        if spec.timed:
            event.time.CopyFrom(Timestamp(seconds=EPOCH + self.count, nanos=7))
        standing = surface.fold(model.events())
        if spec.surface == "append":
            event.surface.append.CopyFrom(AppendOp())
        elif spec.surface == "log_only":
            event.surface.log_only.CopyFrom(LogOnlyOp())
        elif spec.surface == "replace" and (standing or spec.kind == "compaction_checkpoint"):
            event.surface.replace.CopyFrom(span(spec, standing))
        return event

    def fill(self, event: Event, spec: RowSpec, model: Journal) -> None:
        """Sets the payload."""
        text = f"{spec.kind} {self.count}"
        if spec.large and has_text_of_its_own(spec.kind):
            text += "é" * (40 << 10)
        compaction = ("", "k1", "k2")[spec.pick % 3]
        name = spec.kind
        body = getattr(event, name)
        body.SetInParent()
        if name == "user_message":
            body.CopyFrom(UserMessage(text=text, origin=spec.origin))
        elif name == "assistant_message":
            body.text = text
            if spec.low % 2:
                body.usage.CopyFrom(TokenUsage(input_tokens=spec.low, output_tokens=2, cached_input_tokens=1))
        elif name == "tool_call":
            body.call_id, body.name, body.arguments_json = f"call-{self.count}", "run", "{}"
        elif name == "tool_result":
            body.call_id, body.text, body.is_error = self.call_to_answer(spec, model), text, spec.pick == 3
        elif name == "section_marker":
            body.label, body.source = LABELS[spec.pick % len(LABELS)], "list"
            if spec.low % 3:
                body.collapse_earlier = spec.low % 3 == 1
        elif name == "turn_started":
            if spec.pick == 1:
                body.idle_timeout.FromSeconds(1800)
        elif name == "turn_ended":
            body.outcome = (TurnEnded.OUTCOME_COMPLETED, TurnEnded.OUTCOME_FAILED, 0)[spec.pick % 3]
        elif name.startswith("human"):
            fill_human(event, spec, text)
        elif name == "rewind":
            body.after_sequence = rewind_to(spec, surface.fold(model.events()))
        elif name.startswith("compaction"):
            body.compaction_id = compaction
            if "text" in KINDS[name].message_type.fields_by_name:
                body.text = text
        elif "text" in KINDS[name].message_type.fields_by_name:
            body.text = text
        elif name == "error_report":
            body.reason, body.message = "MODEL_FAILED", text

    def call_to_answer(self, spec: RowSpec, model: Journal) -> str:
        """A call that stands on the surface, if there is one."""
        calls = [row.tool_call.call_id for row in surface.fold(model.events()) if kind(row) == "tool_call"]
        return calls[-1 - spec.pick % len(calls)] if calls else f"lost-{self.count}"


def fill_human(event: Event, spec: RowSpec, text: str) -> None:
    """A request or a response under one of four ids."""
    request_id = f"q{spec.pick % 4}"
    if spec.kind == "human_request":
        request = HumanRequest(request_id=request_id, kind=HumanRequest.KIND_QUESTION, prompt=text)
        event.human_request.CopyFrom(request)
    else:
        event.human_response.CopyFrom(HumanResponse(request_id=request_id, outcome=spec.pick % 5, answer=text))


def change(event: Event) -> None:
    """Makes other content of it; where only the kind's default is written out, that is other content too."""
    if kind(event) == "section_marker":
        event.section_marker.label += "!"
    elif kind(event) == "compaction_checkpoint":
        event.compaction_checkpoint.compaction_id += "x"
    elif event.HasField("surface"):
        event.ClearField("surface")
    elif facts(event).surfaces:
        event.surface.append.CopyFrom(AppendOp())
    else:
        event.surface.log_only.CopyFrom(LogOnlyOp())


def span(spec: RowSpec, standing: Sequence[Event]) -> ReplaceOp:
    """A range of the surface; a careful one parts no call from its result."""
    if not standing or spec.high == 7:
        return ReplaceOp(start_sequence=spec.low + 1, end_sequence=spec.low + 1 + spec.high)
    first = spec.low % len(standing)
    last = min(first + spec.high % 4, len(standing) - 1)
    while spec.careful:
        wider = [at for at, row in enumerate(standing) if paired(row, standing[first : last + 1])]
        reach = (min([first, *wider]), max([last, *wider]))
        if reach == (first, last):
            break
        first, last = reach
    return ReplaceOp(start_sequence=standing[first].sequence, end_sequence=standing[last].sequence)


def paired(row: Event, others: Sequence[Event]) -> bool:
    """Whether the row belongs to a call of the others."""
    return surface.call_id(row) is not None and surface.call_id(row) in {surface.call_id(other) for other in others}


def rewind_to(spec: RowSpec, standing: Sequence[Event]) -> int:
    """A row of the surface, or none, or one that may not be there."""
    if spec.high == 7:
        return spec.low + 1
    if not standing or spec.high == 6:
        return 0
    return standing[-1 - min(spec.low % 5, len(standing) - 1)].sequence
