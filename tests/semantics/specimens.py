"""A sound request for every RPC with every field set, and ways to spoil it, found by walking descriptors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message

from transcript.v1 import (
    context_service_pb2,
    journal_service_pb2,
    kind_pb2,
    session_service_pb2,
    transcript_service_pb2,
)
from transcript.v1.context_service_pb2 import ReadContextRequest
from transcript.v1.event_pb2 import Event, Note, Surface
from transcript.v1.journal_service_pb2 import (
    AddNoteRequest,
    AddSectionMarkerRequest,
    AppendEventsRequest,
    PublishLiveRequest,
    ReadEventsRequest,
    ResetContextRequest,
    StreamAppendEventsRequest,
)
from transcript.v1.live_pb2 import LiveUpdate
from transcript.v1.session_pb2 import Session
from transcript.v1.session_service_pb2 import (
    CreateSessionRequest,
    DeleteSessionRequest,
    ForkSessionRequest,
    GetSessionRequest,
    ListSessionsRequest,
    UpdateSessionRequest,
)
from transcript.v1.transcript_service_pb2 import (
    GetEventRequest,
    ListSectionsRequest,
    ListTurnsRequest,
    ReadPageRequest,
    SearchEventsRequest,
    WatchRequest,
)

from .facts import KINDS
from .rows import APPEND, LOG_ONLY, replacing

FILES = (session_service_pb2, journal_service_pb2, transcript_service_pb2, context_service_pb2)
METHODS: dict[str, MethodDescriptor] = {
    method.name: method
    for file in FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
OUTPUT_ONLY = {
    "Event": {"sequence", "recorded_at", "turn", "fallback", "elided_bytes"},
    "CompactionCheckpoint": {"summary_sequence"},
    "Session": {
        "owner",
        "created_at",
        "last_prompt_at",
        "latest_sequence",
        "latest_turn",
        "running",
        "open_request_count",
        "held_row_count",
        "journal_id",
        "forked_from_session_id",
        "forked_from_sequence",
        "deleted",
        "last_recorded_at",
        "message_count",
        "usage",
    },
}
INTEGERS = {FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64}
NUMBERS = {
    "exit_code": 1,
    "nanos": 5,
    "seconds": 1,
}


@dataclass(frozen=True)
class Place:
    """A message within a request: how to get there, and how its path is written."""

    steps: tuple[tuple[str, int | None], ...]
    path: str

    def within(self, request: Message) -> Message:
        """The message at this place."""
        message = request
        for name, index in self.steps:
            message = getattr(message, name) if index is None else getattr(message, name)[index]
        return message

    def field(self, name: str) -> str:
        """The path of one of its fields."""
        return f"{self.path}.{name}" if self.path else name


def places(request: Message) -> Iterator[Place]:
    """Every message that is set in the request, itself first."""
    pending = [(Place((), ""), request)]
    while pending:
        place, message = pending.pop(0)
        yield place
        for field, value in message.ListFields():
            if field.message_type is None or field.message_type.GetOptions().map_entry:
                continue
            each = [(None, value)] if not field.is_repeated else list(enumerate(value))
            for index, item in each:
                part = field.name if index is None else f"{field.name}[{index}]"
                path = f"{place.path}.{part}" if place.path else part
                pending.append((Place((*place.steps, (field.name, index)), path), item))


def filled(descriptor: Descriptor, message: Message, choices: dict[str, str]) -> None:
    """Sets every field that a caller may set; of a oneof the chosen member, or else the first."""
    for field in descriptor.fields:
        oneof = field.containing_oneof
        if field.name in OUTPUT_ONLY.get(descriptor.name, ()):
            continue
        if oneof and len(oneof.fields) > 1 and choices.get(oneof.full_name, oneof.fields[0].name) != field.name:
            continue
        if field.message_type is not None:
            inner = getattr(message, field.name).add() if field.is_repeated else getattr(message, field.name)
            inner.SetInParent()
            filled(field.message_type, inner, choices)
            continue
        value = sample(field)
        if field.is_repeated:
            getattr(message, field.name).append(value)
        else:
            setattr(message, field.name, value)


def sample(field: FieldDescriptor) -> object:
    """A value that is not the default."""
    if field.type == FieldDescriptor.TYPE_STRING:
        return {"request_id": "q1", "arguments_json": "{}", "json": "{}"}.get(field.name, "value")
    if field.type == FieldDescriptor.TYPE_BYTES:
        return b"value"
    if field.type == FieldDescriptor.TYPE_BOOL:
        return True
    return NUMBERS.get(field.name, 1)


def rows() -> Iterator[Event]:
    """A row of every kind, every field set, each way to carry an attachment, each surface operation."""
    for name, field in KINDS.items():
        if name == "session_forked":
            continue
        bodies = ["data", "uri"] if "attachments" in field.message_type.fields_by_name else [""]
        for body in bodies:
            event = Event()
            filled(Event.DESCRIPTOR, event, {
                "transcript.v1.Event.payload": name,
                "transcript.v1.Attachment.body": body,
                "transcript.v1.Surface.op": "append",
            })  # fmt: skip
            event.surface.CopyFrom(surface_for(name, body))
            if name == "section_marker":
                event.ClearField("surface")
                event.ClearField("source_sequences")
            yield event


def surface_for(name: str, body: str) -> Surface:
    """An operation that the kind may have; not always the same."""
    facts = KINDS[name].GetOptions().Extensions[kind_pb2.facts]
    if name == "compaction_checkpoint" or (facts.surfaces and body == "uri"):
        return replacing(1, 1)
    return APPEND if facts.surfaces else LOG_ONLY


def specimens(method: str) -> list[Message]:
    """Sound requests to an RPC, about a session `s` with a prompt, a reply and a waiting request `q1`."""
    new = Session(id="new", title="t", labels={"k": "v"}, kind=1, parent_session_id="s")
    live = LiveUpdate(event_id="r", block=1, offset=1, text_delta="x")
    page = {"session_id": "s", "view": 1, "page_size": 1}
    appends = [
        AppendEventsRequest(session_id="s", events=[row], expected_latest_sequence=3, as_recorded=True)
        for row in rows()
    ]
    table: dict[str, list[Message]] = {
        "CreateSession": [CreateSessionRequest(session=new)],
        "GetSession": [GetSessionRequest(session_id="s")],
        "ListSessions": [
            ListSessionsRequest(page_size=1, title_contains="t", kinds=[1], parent_session_id="s", labels={"k": "v"})
        ],
        "UpdateSession": [
            UpdateSessionRequest(
                session=Session(id="s", title="t", labels={"k": "v"}), update_mask={"paths": ["title"]}
            )
        ],
        "DeleteSession": [DeleteSessionRequest(session_id="s")],
        "ForkSession": [
            ForkSessionRequest(
                source_session_id="s", through_sequence=1, session=Session(id="new", title="t", labels={"k": "v"})
            )
        ],
        "AppendEvents": list(appends),
        "StreamAppendEvents": [StreamAppendEventsRequest(append=append) for append in appends[:3]],
        "ReadEvents": [ReadEventsRequest(session_id="s", after_sequence=1, through_sequence=2)],
        "AddSectionMarker": [
            AddSectionMarkerRequest(session_id="s", label="l", collapse_earlier=False, source="w", event_id="x")
        ],
        "AddNote": [AddNoteRequest(session_id="s", note=Note(text="t", source="w"), event_id="x")],
        "ResetContext": [ResetContextRequest(session_id="s", reason="r", event_id="x")],
        "PublishLive": [PublishLiveRequest(session_id="s", live=live)],
        "ReadPage": [
            ReadPageRequest(**page, before_sequence=2, expand_sections=True, as_of_sequence=2),
            ReadPageRequest(**page, after_sequence=1),
        ],
        "Watch": [WatchRequest(**page, expand_sections=True, after_sequence=1, resume_limit=9, include_sessions=True)],
        "GetEvent": [GetEventRequest(session_id="s", sequence=1)],
        "ListSections": [ListSectionsRequest(session_id="s", page_size=1)],
        "ListTurns": [ListTurnsRequest(session_id="s", page_size=1)],
        "SearchEvents": [SearchEventsRequest(session_id="s", query="x", view=2, before_sequence=2, limit=1)],
        "ReadContext": [ReadContextRequest(session_id="s", scope=1, exclude_running_prompt=True, as_of_sequence=1)],
    }
    return table[method]
