"""The bytes that the service handles itself are Protobuf's own; and what parsing hides is found in them."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet
from hypothesis import given
from hypothesis import strategies as st
from semantics.rows import ask, call, marker, reply, result, user
from semantics.world import examples

from transcript.v1.event_pb2 import Attachment, Event, UserMessage
from transcript.v1.journal_service_pb2 import AddNoteRequest, AppendEventsRequest, StreamAppendEventsRequest
from transcript.v1.session_service_pb2 import CreateSessionRequest, ListSessionsRequest, UpdateSessionRequest
from transcript.v1.transcript_service_pb2 import EventBatch, ReadPageRequest, ReadPageResponse, WatchResponse
from transcript_server.rules.wire import (
    embed,
    fault,
    first_field_prefix,
    has_unknown_fields,
    unknown_field,
    varint,
)

from .specimens import SPECIMENS

EVENTS = EventBatch.DESCRIPTOR.fields_by_name["events"].number
# Where a length takes one byte more.
SIZES = st.sampled_from([0, 1, 100, 127, 128, 129, 16_383, 16_384, 70_000])
UNKNOWN = b"\xa2\x06\x03abc"
NOT_UTF8 = b"\xff\xfe\xc0"


def with_unknown(message: Message) -> bytes:
    """Its bytes, with a field that the contract does not have."""
    return message.SerializeToString() + UNKNOWN


@examples(50)
@given(st.integers(0, (1 << 64) - 1))
def test_a_varint_is_protobufs(value: int) -> None:
    """As a message's own field shows, tag taken off."""
    if value < 1 << 63:
        assert varint(value) == ReadPageRequest(before_sequence=value).SerializeToString()[1:] or not value
    groups = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    assert varint(value) == bytes([group | 0x80 for group in groups[:-1]] + groups[-1:])


@examples(40)
@given(st.lists(SIZES, max_size=5))
def test_rows_with_what_stands_before_each_are_the_batch_as_protobuf_writes_it(sizes: list[int]) -> None:
    """The stored bytes of rows with a tag and a length before each, by either way to write these."""
    rows = [reply("x" * size, sequence=number) for number, size in enumerate(sizes)]
    stored = [row.SerializeToString() for row in rows]
    batch = EventBatch(events=rows).SerializeToString()

    assert b"".join(embed(EVENTS, row) for row in stored) == batch
    assert b"".join(first_field_prefix(len(row)) + row for row in stored) == batch


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, 8 << 20, (1 << 31) - 1])
def test_what_stands_before_a_row_is_its_tag_and_its_length(size: int) -> None:
    """Where the length takes a byte more, too."""
    assert first_field_prefix(size) == embed(1, b"")[:1] + varint(size)


@pytest.mark.parametrize("number", [15, 16, 2047, 2048, (1 << 29) - 1])
def test_a_field_of_any_number_is_embedded_as_protobuf_reads_it(number: int) -> None:
    """Tags of one to five bytes: a field that is not known is kept as it was written."""
    (field,) = UnknownFieldSet(CreateSessionRequest.FromString(embed(number, b"abc")))

    assert (field.field_number, field.wire_type, field.data) == (number, 2, b"abc")


def test_messages_around_messages_are_as_protobuf_writes_them() -> None:
    """A page's rows within a response."""
    batch = EventBatch(events=[user("x", sequence=1), reply("y" * 200, sequence=2)])
    for response in (ReadPageResponse, WatchResponse):
        number = response.DESCRIPTOR.fields_by_name["events"].number
        assert embed(number, batch.SerializeToString()) == response(events=batch).SerializeToString()


@pytest.mark.parametrize("name", SPECIMENS)
def test_rule_5_a_sound_row_has_no_unknown_field(name: str) -> None:
    """Neither when it was built, nor when it was read."""
    row = Event.FromString(SPECIMENS[name].SerializeToString())

    assert not has_unknown_fields(row)
    assert unknown_field(row) is None


def nested(depth: int) -> tuple[Message, str]:
    """A request with an unknown field at some depth, built of bytes, and that field's path."""
    attachment = with_unknown(Attachment(name="a")) if depth == 3 else Attachment(name="a").SerializeToString()
    message = embed(2, Attachment(name="first").SerializeToString()) + embed(2, attachment)
    if depth == 2:
        message += UNKNOWN
    row = embed(Event.USER_MESSAGE_FIELD_NUMBER, message)
    if depth == 1:
        row += UNKNOWN
    request = embed(2, user("x").SerializeToString()) + embed(2, row)
    if depth == 0:
        request += UNKNOWN
    paths = [
        "#100",
        "events[1].#100",
        "events[1].user_message.#100",
        "events[1].user_message.attachments[1].#100",
    ]
    return AppendEventsRequest.FromString(request), paths[depth]


@pytest.mark.parametrize("depth", range(4))
def test_rule_5_an_unknown_field_is_found_at_any_depth(depth: int) -> None:
    """And named by where it stands."""
    request, path = nested(depth)

    assert has_unknown_fields(request)
    assert unknown_field(request) == path


@pytest.mark.parametrize(
    "unknown",
    [b"\xa0\x06\x01", b"\xa1\x06" + bytes(8), b"\xa5\x06" + bytes(4), b"\xa2\x06\x00", b"\xa3\x06\xa4\x06"],
    ids=["varint", "fixed64", "fixed32", "empty", "group"],
)
def test_rule_5_an_unknown_field_is_found_whatever_its_form(unknown: bytes) -> None:
    """Also one that holds nothing."""
    request = AppendEventsRequest.FromString(embed(2, user("x").SerializeToString() + unknown))

    assert has_unknown_fields(request)
    assert unknown_field(request) == "events[0].#100"


def test_rule_5_an_unknown_field_is_found_in_messages_that_are_not_ours() -> None:
    """A time, a duration, a field mask."""
    time = embed(Event.TIME_FIELD_NUMBER, UNKNOWN)
    assert unknown_field(Event.FromString(time)) == "time.#100"

    mask = embed(2, UNKNOWN)
    assert unknown_field(UpdateSessionRequest.FromString(mask)) == "update_mask.#100"


def test_rule_5_an_unknown_field_is_found_in_a_maps_entry() -> None:
    """Protobuf keeps such an entry aside as a whole, so the map is named by its number."""
    entry = embed(1, b"key") + embed(2, b"value") + UNKNOWN
    request = CreateSessionRequest.FromString(embed(1, embed(3, entry)))

    assert has_unknown_fields(request)
    assert unknown_field(request) == "session.#3"


@examples(50)
@given(st.binary(max_size=40))
def test_rule_5_the_two_ways_to_look_for_unknown_fields_agree(data: bytes) -> None:
    """Whatever bytes come, as far as they are a message at all."""
    try:
        request = AppendEventsRequest.FromString(data)
    except DecodeError:
        return
    assert has_unknown_fields(request) == (unknown_field(request) is not None)


UTF8_FAULTS = [
    (AppendEventsRequest, embed(1, NOT_UTF8), "session_id"),
    (AppendEventsRequest, embed(2, embed(2, NOT_UTF8)), "events.id"),
    (AppendEventsRequest, embed(2, embed(10, embed(1, NOT_UTF8))), "events.user_message.text"),
    (AppendEventsRequest, embed(2, embed(10, embed(2, embed(4, NOT_UTF8)))), "events.user_message.attachments.uri"),
    (
        StreamAppendEventsRequest,
        embed(1, embed(2, embed(13, embed(3, NOT_UTF8)))),
        "append.events.tool_call.arguments_json",
    ),
    (AddNoteRequest, embed(2, embed(2, NOT_UTF8)), "note.source"),
    (CreateSessionRequest, embed(1, embed(3, embed(1, NOT_UTF8))), "session.labels.key"),
    (CreateSessionRequest, embed(1, embed(3, embed(1, b"a") + embed(2, NOT_UTF8))), "session.labels.value"),
    (ListSessionsRequest, embed(3, NOT_UTF8), "title_contains"),
]


@pytest.mark.parametrize(("kind", "data", "path"), UTF8_FAULTS, ids=[path for _, _, path in UTF8_FAULTS])
def test_text_that_is_not_utf8_is_found_where_it_stands(kind: type[Message], data: bytes, path: str) -> None:
    """Behind sound fields too."""
    with pytest.raises(DecodeError):
        kind.FromString(data)
    assert fault(kind, data) == path
    assert fault(kind, UNKNOWN + data) == path


def test_bytes_that_are_not_utf8_are_sound_where_bytes_may_stand() -> None:
    """Attachments and signatures are bytes."""
    data = UserMessage(attachments=[Attachment(data=NOT_UTF8)]).SerializeToString()

    assert fault(UserMessage, data) is None


def test_a_message_that_ends_in_its_midst_is_found_by_the_field_that_is_cut() -> None:
    """The field whose length reaches beyond the end."""
    row = reply("x" * 50, id="an-id").SerializeToString()

    assert fault(Event, row[:-1]) == "assistant_message"
    assert fault(Event, row[:4]) == "id"
    assert fault(AppendEventsRequest, embed(2, row[:-1])) == "events.assistant_message"
    assert fault(AppendEventsRequest, embed(1, b"session")[:-1]) == "session_id"


@pytest.mark.parametrize(
    ("data", "path"),
    [
        (b"\x09" + bytes(7), "sequence"),
        (b"\x0d" + bytes(3), "sequence"),
        (b"\x0b", "sequence"),
        (b"\x0e\x00", "sequence"),
        (b"\x0f\x00", "sequence"),
        (b"\xa6\x06\x00", "#100"),
    ],
    ids=["fixed64", "fixed32", "group", "type 6", "type 7", "unknown"],
)
def test_a_field_in_a_form_that_cannot_be_is_named(data: bytes, path: str) -> None:
    """Of a field that is known, or by its number."""
    assert fault(Event, data) == path


MESSAGES = [
    AppendEventsRequest(session_id="s", events=[SPECIMENS[name]], expected_latest_sequence=4) for name in SPECIMENS
]


@pytest.mark.parametrize("request_", MESSAGES, ids=SPECIMENS)
def test_a_sound_message_has_no_fault_and_a_cut_one_ends_somewhere(request_: Message) -> None:
    """Cut anywhere: what does not parse is named by a field on the way, if it is named at all."""
    data = request_.SerializeToString()
    assert fault(AppendEventsRequest, data) is None
    for length in range(len(data)):
        try:
            AppendEventsRequest.FromString(data[:length])
        except DecodeError:
            path = fault(AppendEventsRequest, data[:length])
            assert path is None or path.partition(".")[0] in ("session_id", "events", "expected_latest_sequence")


@examples(100)
@given(st.binary(max_size=60), st.sampled_from([AppendEventsRequest, CreateSessionRequest, ListSessionsRequest]))
def test_whatever_bytes_come_a_fault_is_a_path_or_nothing(data: bytes, kind: type[Message]) -> None:
    """Looking for one never fails itself."""
    found = fault(kind, data)

    assert found is None or found


@examples(50)
@given(st.binary(min_size=1, max_size=30), st.integers(0, 10_000))
def test_a_message_with_bytes_changed_in_it_is_a_message_or_has_a_path_or_nothing(change: bytes, at: int) -> None:
    """As a broken network card would make it."""
    data = AppendEventsRequest(session_id="s", events=[user("x"), call(), result(), marker("m"), ask()])
    whole = data.SerializeToString()
    at %= len(whole)
    found = fault(AppendEventsRequest, whole[:at] + change + whole[at + len(change) :])

    assert found is None or found.split(".")[0].strip("#0123456789") in {
        "", *(field.name for field in AppendEventsRequest.DESCRIPTOR.fields)
    }  # fmt: skip
