"""What the contract says, pinned: a change of these is a change that a reviewer has to see."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from transcript.v1 import error_reason_pb2, kind_pb2
from transcript.v1.event_pb2 import Event, SectionMarker
from transcript.v1.journal_service_pb2 import AddSectionMarkerRequest
from transcript_server.rules import limits
from transcript_server.rules.errors import CODES

from .comments import comments
from .tree import ROOT

# The facts of every kind, in one view. What is not named is false.
KINDS = {
    "user_message": (10, {"message", "kept", "surfaces", "recalled", "prompts"}),
    "assistant_message": (11, {"message", "kept", "surfaces", "recalled", "agent"}),
    "thinking": (12, {"surfaces", "agent"}),
    "tool_call": (13, {"surfaces", "agent", "tool"}),
    "tool_result": (14, {"surfaces", "agent", "tool"}),
    "section_marker": (15, {"kept", "held"}),
    "turn_started": (16, set()),
    "turn_ended": (17, set()),
    "note": (18, {"kept", "surfaces", "recalled", "held"}),
    "human_request": (19, {"kept"}),
    "human_response": (20, {"kept"}),
    "error_report": (21, {"kept"}),
    "status": (22, set()),
    "subagent_started": (23, set()),
    "subagent_completed": (24, {"message", "kept"}),
    "subagent_terminated": (25, set()),
    "compaction_started": (26, set()),
    "compaction_summary": (27, set()),
    "compaction_checkpoint": (28, {"kept", "surfaces", "recalled"}),
    "compaction_ended": (29, set()),
    "context_reset": (30, {"kept", "held"}),
    "rewind": (31, {"kept"}),
    "system_message": (32, {"surfaces"}),
    "input_receipt": (33, set()),
    "session_forked": (34, {"kept"}),
    "foreign_record": (35, set()),
}

ELIDABLE = {
    "Attachment.data",
    "UserMessage.text",
    "AssistantMessage.text",
    "Thinking.text",
    "ToolCall.arguments_json",
    "ToolResult.text",
    "Note.text",
    "HumanRequest.prompt",
    "HumanResponse.answer",
    "SubagentCompleted.text",
    "CompactionSummary.text",
    "CompactionCheckpoint.text",
    "SystemMessage.text",
    "ForeignRecord.json",
}

# Where each limit stands in the contract, and in what words; {} is the limit as comments write it.
LIMITS = {
    "PAGE_MESSAGES": [("ReadPageRequest.page_size", "compact, default {}")],
    "PAGE_ROWS": [("ReadPageRequest.page_size", "full and journal, default {}")],
    "PAGE_SIZE_MAX": [
        ("ReadPageRequest.page_size", "at most {}"),
        ("ListSessionsRequest.page_size", "at most {}"),
        ("ListSectionsRequest.page_size", "at most {}"),
        ("ListTurnsRequest.page_size", "at most {}"),
        ("SearchEventsRequest.limit", "at most {}"),
    ],
    "COMPACT_PAGE_ROWS": [("TranscriptService.ReadPage", "past {} rows")],
    "COMPACT_PAGE_BYTES": [("TranscriptService.ReadPage", "or {}")],
    "MESSAGE_BYTES": [
        ("TranscriptService", "stays under {}, unless it holds a single row"),
        ("ListSectionsRequest.page_size", "ends early at {}"),
        ("ListTurnsRequest.page_size", "ends early at {}"),
        ("ReadEventsResponse.events", "stays under {}, unless it holds a single row"),
        ("ReadContextResponse.events", "stays under {}, unless it holds a single row"),
    ],
    "ELIDED_ROW_BYTES": [("Event.elided_bytes", "over {}"), ("elidable", "over {}")],
    "ELIDED_FIELD_BYTES": [("Event.elided_bytes", "cut to {}")],
    "HIDDEN_LABELS": [("HiddenSections.labels", "latest {} at most")],
    "OPEN_REQUESTS": [("PageInfo.open_request_sequences", "latest {}")],
    "LIST_SECTIONS": [("ListSectionsRequest.page_size", "default {}")],
    "LIST_SESSIONS": [("ListSessionsRequest.page_size", "default {}")],
    "WATCHED_SESSIONS": [("WatchRequest.include_sessions", "latest prompted {} first")],
    "APPEND_ROWS": [("AppendEventsRequest.events", "1 to {} rows")],
    "APPEND_BYTES": [("AppendEventsRequest.events", "at most {} together")],
    "ROW_BYTES": [
        ("Event", "at most {} serialized"),
        ("TranscriptService", "a row may have {}"),
        ("ErrorReason.ERROR_REASON_ROW_TOO_LARGE", "larger than {}"),
    ],
    "EVENT_ID_BYTES": [
        ("Event.id", "at most {}"),
        ("LiveUpdate.event_id", "at most {}"),
        ("InputReceipt.event_id", "at most {}"),
        ("AddSectionMarkerRequest.event_id", "at most {}"),
        ("AddNoteRequest.event_id", "at most {}"),
        ("ResetContextRequest.event_id", "at most {}"),
    ],
    "REPEATED": [("Event.source_sequences", "at most {}")],
    "HELD_ROWS": [("Session.held_row_count", "at most {}")],
    "LINE_BYTES": [
        ("Event", "at most {} where its field says nothing else"),
        ("ResetContextRequest.reason", "at most {}"),
    ],
    "ATTACHMENTS": [
        ("UserMessage.attachments", "at most {}"),
        ("AssistantMessage.attachments", "at most {}"),
        ("ToolResult.attachments", "at most {}"),
    ],
    "REQUEST_OPTIONS": [("HumanRequest.options", "at most {}, each")],
    "LIVE_DELTA_BYTES": [("LiveUpdate.text_delta", "at most {}")],
    "IDLE_TIMEOUT_SECONDS": [("TurnStarted.idle_timeout", "the server's setting, {} unless")],
    "IDLE_TIMEOUT_SECONDS_MAX": [("TurnStarted.idle_timeout", "at most {}")],
    "SESSION_ID_BYTES": [
        ("Session.id", "1 to {:n} of"),
        ("Session.parent_session_id", "at most {}"),
        ("SessionForked.session_id", "at most {}"),
        ("SubagentStarted.session_id", "at most {}"),
    ],
    "LABEL_CODE_POINTS": [
        ("SectionMarker.label", "at most {} code points"),
        ("AddSectionMarkerRequest.label", "at most {} code points"),
    ],
    "SOURCE_CODE_POINTS": [
        ("SectionMarker.source", "at most {} code points"),
        ("Note.source", "at most {} code points"),
        ("AddSectionMarkerRequest.source", "at most {} code points"),
    ],
    "TITLE_CODE_POINTS": [("Session.title", "at most {} code points")],
    "SESSION_LABELS": [("Session.labels", "at most {} entries")],
    "SESSION_LABEL_BYTES": [("Session.labels", "keys and values at most {} each")],
    "RECEIVE_BYTES": [("SessionService", "receives messages of up to {}")],
    "HEARTBEAT_SECONDS": [("CaughtUp", "at least every {}"), ("TranscriptService.Watch", "at least every {}")],
}

REASONS = error_reason_pb2.ErrorReason.DESCRIPTOR.values

UNITS = {"KIB", "MIB"}


def in_words(name: str, value: int) -> str:
    """A limit as the comments write it: 8 MiB, 128 bytes, 1 h, 40."""
    if "_SECONDS" in name:
        steps, unit = [(86400, "days"), (3600, "h"), (1, "s")], "s"
    elif name.endswith("_BYTES"):
        steps, unit = [(1 << 20, "MiB"), (1 << 10, "KiB")], "bytes"
    else:
        return str(value)
    return next((f"{value // step} {word}" for step, word in steps if value % step == 0), f"{value} {unit}")


def limit_names() -> list[str]:
    return [
        name for name, value in vars(limits).items() if name.isupper() and isinstance(value, int) and name not in UNITS
    ]


def fields_of_rows(message: Descriptor = Event.DESCRIPTOR) -> Iterator[FieldDescriptor]:
    """Every field of the contract's own messages that a row may hold, at any depth."""
    for field in message.fields:
        yield field
        if field.message_type is not None and field.message_type.full_name.startswith("transcript."):
            yield from fields_of_rows(field.message_type)


def shape(message: Descriptor) -> list[tuple[int, str, str, bool]]:
    types = {FieldDescriptor.TYPE_STRING: "string", FieldDescriptor.TYPE_BOOL: "bool"}
    return [(field.number, field.name, types[field.type], field.has_presence) for field in message.fields]


def test_a_section_marker_is_closed() -> None:
    """Label, source and collapse_earlier are all that a caller may say of a boundary; there is nothing to widen."""
    assert shape(SectionMarker.DESCRIPTOR) == [
        (1, "label", "string", False),
        (2, "source", "string", False),
        (3, "collapse_earlier", "bool", True),
    ]
    assert shape(AddSectionMarkerRequest.DESCRIPTOR) == [
        (1, "session_id", "string", False),
        (2, "label", "string", False),
        (3, "collapse_earlier", "bool", True),
        (4, "source", "string", False),
        (5, "event_id", "string", False),
    ]


def test_the_kinds_and_their_facts() -> None:
    """What each kind means to readers, in one table."""
    facts = {}
    for field in Event.DESCRIPTOR.oneofs_by_name["payload"].fields:
        said = field.GetOptions().Extensions[kind_pb2.facts]
        facts[field.name] = (field.number, {fact.name for fact, value in said.ListFields() if value})

    assert facts == KINDS


def test_the_fields_that_a_page_may_cut() -> None:
    """Long texts and the bytes of attachments may be cut on a page; nothing that identifies or counts may."""
    elidable = {
        field.full_name.removeprefix("transcript.v1.")
        for field in fields_of_rows()
        if field.GetOptions().Extensions[kind_pb2.elidable]
    }

    assert elidable == ELIDABLE


@pytest.mark.parametrize("name", limit_names())
def test_a_limit_stands_in_the_contract(name: str) -> None:
    """The number that the server holds to is the number that the comments promise."""
    assert name in LIMITS, "name in LIMITS where the contract states this limit"
    value = getattr(limits, name)
    for element, words in LIMITS[name]:
        expected = words.replace("{:n}", str(value)).replace("{}", in_words(name, value))
        comment = comments()[f"transcript.v1.{element}"]

        assert expected.casefold() in comment.casefold(), f"{element}: {comment}"


def test_every_text_of_a_row_states_its_limit() -> None:
    """A string that is not cut on a page has a length beyond which it is refused, and its comment says which."""
    silent = {
        field.full_name
        for field in fields_of_rows()
        if field.type == FieldDescriptor.TYPE_STRING
        and not field.GetOptions().Extensions[kind_pb2.elidable]
        and not re.search(r"[Aa]t most \d", comments()[field.full_name])
    }

    assert silent == {"transcript.v1.Event.fallback"}  # the server writes it


def test_every_field_that_the_server_assigns_says_so() -> None:
    """What must be unset on append is marked as output only."""
    named = {
        "transcript.v1.Event.sequence",
        "transcript.v1.Event.recorded_at",
        "transcript.v1.Event.turn",
        "transcript.v1.Event.fallback",
        "transcript.v1.Event.elided_bytes",
        "transcript.v1.CompactionCheckpoint.summary_sequence",
    }
    marked = {field.full_name for field in fields_of_rows() if comments()[field.full_name].endswith("Output only.")}

    assert marked == named


@pytest.mark.parametrize("reason", [value.name for value in REASONS if value.number])
def test_an_error_reason_has_a_code_and_an_entry_in_the_docs(reason: str) -> None:
    """The code that the server sends is the one that the comment promises, and the docs say what to do."""
    code = CODES[error_reason_pb2.ErrorReason.Value(reason)]

    assert comments()[f"transcript.v1.ErrorReason.{reason}"].startswith(f"{code}. ")
    assert re.search(rf"\b{reason.removeprefix('ERROR_REASON_')}\b", (ROOT / "docs" / "errors.md").read_text())


def test_what_is_released_is_part_of_the_contract() -> None:
    """The released image has nothing that the contract lacks: `make check` compares the two in full."""
    image = (ROOT / "proto" / "released.binpb").read_bytes()

    assert b"transcript.v1" in image
    assert (ROOT / "CHANGELOG.md").read_text().count("\n## [") >= 1


def test_the_generator_is_the_pinned_one() -> None:
    """Generated code refuses a runtime older than its generator: the generator is the oldest that is supported."""
    made = "GRPC_GENERATED_VERSION = '1.76.0'"

    generated = (ROOT / "clients/python/transcript/v1/journal_service_pb2_grpc.py").read_text()
    assert made in generated
    assert "grpcio-tools==1.76.0" in (ROOT / "Makefile").read_text()
    assert '"grpcio>=1.76"' in (ROOT / "pyproject.toml").read_text()
