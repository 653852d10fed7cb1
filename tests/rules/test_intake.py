"""What becomes of a row by itself: rules 3, 5, 6, 11, 20 and 23, and the order in which they are asked."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st
from semantics.rows import APPEND, LOG_ONLY, ask, checkpoint, marker, note, replacing, reply, respond, result, user
from semantics.world import examples

from transcript.v1.event_pb2 import (
    Event,
    HumanRequest,
    InputReceipt,
    SectionMarker,
    SessionForked,
    SubagentStarted,
    Surface,
    ToolCall,
    TurnStarted,
    UserMessage,
)
from transcript_server.rules import limits
from transcript_server.rules.errors import Refusal
from transcript_server.rules.facts import KINDS
from transcript_server.rules.fallback import fallback
from transcript_server.rules.intake import Draft, Intake, mint_id, refuse_unknown, server_row

from .specimens import SPECIMENS

INTAKE = Intake(b"a secret of the store")
UNKNOWN = b"\xa2\x06\x03abc"
"""Field 100, a string: no message of the contract has one."""


def copy(event: Event, **fields: object) -> Event:
    """The same row, with some fields of its own."""
    copied = Event()
    copied.CopyFrom(event)
    copied.MergeFrom(Event(**fields))
    return copied


def taken(event: Event) -> Draft:
    """A copy of the row, taken in."""
    return INTAKE.take([copy(event)])[0]


def refused(*events: Event) -> Refusal:
    """How an append of copies of these rows is refused."""
    with pytest.raises(Refusal) as caught:
        INTAKE.take([copy(event) for event in events])
    return caught.value


def wrong_fields(*events: Event) -> list[str]:
    """The fields that an INVALID_FIELD names."""
    refusal = refused(*events)
    assert refusal.reason_name == "INVALID_FIELD"
    return [violation.field for violation in refusal.violations]


@pytest.mark.parametrize("name", SPECIMENS)
def test_a_sound_row_of_every_kind_is_taken_as_it_was_sent(name: str) -> None:
    """What a draft holds beside that is what rules 6, 11 and 23 have the server write."""
    sent = SPECIMENS[name]
    draft = taken(sent)

    kept = copy(draft.event)
    kept.ClearField("fallback")
    if not sent.HasField("surface"):
        kept.ClearField("surface")
    assert kept == sent
    assert (draft.kind.name, draft.named) == (name, True)
    assert draft.event.fallback == fallback(draft.event, draft.kind)


@pytest.mark.parametrize("name", SPECIMENS)
def test_rule_23_every_row_says_what_it_does_to_the_surface(name: str) -> None:
    """Append for a kind that surfaces, log_only for any other; what the writer said stands."""
    op = taken(SPECIMENS[name]).event.surface.WhichOneof("op")

    assert op == ("replace" if name == "compaction_checkpoint" else "append" if KINDS[name].surfaces else "log_only")


@pytest.mark.parametrize(
    "name", [name for name in SPECIMENS if name not in ("compaction_checkpoint", "section_marker")]
)
@pytest.mark.parametrize("surface", [APPEND, replacing(1, 2), LOG_ONLY], ids=["append", "replace", "log_only"])
def test_rule_23_only_a_kind_that_surfaces_may_append_or_replace(name: str, surface: Surface) -> None:
    """Any may be logged only."""
    row = copy(SPECIMENS[name], surface=surface)
    if KINDS[name].surfaces or surface == LOG_ONLY:
        assert taken(row).event.surface == surface
    else:
        assert refused(row).reason_name == "BAD_SURFACE_OP"


@pytest.mark.parametrize("surface", [None, APPEND, LOG_ONLY], ids=["absent", "append", "log_only"])
def test_rule_23_a_checkpoint_must_replace(surface: Surface | None) -> None:
    """It stands in place of the compacted range, or it is none."""
    row = checkpoint(1, 2)
    row.ClearField("surface")
    if surface is not None:
        row.surface.CopyFrom(surface)

    assert refused(row).reason_name == "BAD_SURFACE_OP"


@pytest.mark.parametrize(
    ("field", "row"),
    [
        ("sequence", user(sequence=1)),
        ("recorded_at", user(recorded_at=Timestamp())),
        ("turn", user(turn=1)),
        ("fallback", user(fallback="x")),
        ("elided_bytes", user(elided_bytes=1)),
    ],
)
def test_rule_5_output_only_fields_are_refused(field: str, row: Event) -> None:
    """The server assigns them."""
    assert wrong_fields(row) == [f"events[0].{field}"]


def test_rule_5_a_checkpoints_summary_is_the_servers_to_find() -> None:
    """Output only, within the payload."""
    row = checkpoint(1, 2)
    row.compaction_checkpoint.summary_sequence = 4

    assert wrong_fields(row) == ["events[0].compaction_checkpoint.summary_sequence"]


def test_rule_5_every_wrong_field_of_the_first_wrong_row_is_named() -> None:
    """So that one answer is enough to mend it."""
    wrong = user(sequence=1, turn=2, id="a\n")

    assert wrong_fields(user(), wrong, user(sequence=3)) == ["events[1].sequence", "events[1].turn", "events[1].id"]


def test_rule_5_a_surface_without_an_operation_is_refused() -> None:
    """It says nothing."""
    assert wrong_fields(user(surface=Surface())) == ["events[0].surface"]


def test_rule_5_an_unknown_enum_value_is_refused_at_any_depth() -> None:
    """It could mean anything."""
    assert wrong_fields(user(origin=99)) == ["events[0].user_message.origin"]


@pytest.mark.parametrize(
    ("timeout", "sound"),
    [
        (Duration(), True),
        (Duration(nanos=1), True),
        (Duration(seconds=7 * 86400), True),
        (Duration(seconds=7 * 86400, nanos=1), False),
        (Duration(seconds=7 * 86400 + 1), False),
        (Duration(seconds=-1), False),
        (Duration(nanos=-1), False),
        (Duration(nanos=1_000_000_000), False),
    ],
    ids=lambda value: value if isinstance(value, bool) else f"{value.seconds}s{value.nanos}ns",
)
def test_rule_5_an_idle_timeout_is_0_to_7_days(timeout: Duration, sound: bool) -> None:
    """The bound is inclusive, to the nanosecond."""
    row = Event(turn_started=TurnStarted(idle_timeout=timeout))
    if sound:
        assert taken(row).event.turn_started.idle_timeout == timeout
    else:
        assert wrong_fields(row) == ["events[0].turn_started.idle_timeout"]


@pytest.mark.parametrize("row", [Event(), Event(id="a"), Event.FromString(UNKNOWN)], ids=["empty", "id", "newer"])
def test_rule_6_a_row_without_a_known_kind_is_refused_as_such(row: Event) -> None:
    """Before anything else is said of it."""
    assert refused(copy(row, sequence=1)).reason_name == "UNKNOWN_KIND"


def test_rule_6_the_unknown_kind_is_told_rather_than_its_unknown_field() -> None:
    """To the request's check for unknown fields, a newer kind looks like one."""
    with pytest.raises(Refusal) as caught:
        refuse_unknown(Event.FromString(UNKNOWN))
    assert caught.value.reason_name == "UNKNOWN_FIELD"

    message = SPECIMENS["status"].SerializeToString() + UNKNOWN
    with pytest.raises(Refusal) as caught:
        refuse_unknown(Event.FromString(message))
    assert [violation.field for violation in caught.value.violations] == ["#100"]


@pytest.mark.parametrize("surface", [APPEND, replacing(1, 1), LOG_ONLY, Surface()])
def test_rule_11_a_marker_admits_no_surface(surface: Surface) -> None:
    """Not even the one that it has: nobody says what it does, it never enters the model's context."""
    assert "events[0].surface" in wrong_fields(marker(surface=surface))


def test_rule_11_a_marker_admits_no_source_sequences() -> None:
    """It was made from nothing."""
    assert wrong_fields(marker(source_sequences=[1])) == ["events[0].source_sequences"]


@pytest.mark.parametrize(("said", "stored"), [(None, True), (True, True), (False, False)])
def test_rule_11_collapse_earlier_is_always_stored(said: bool | None, stored: bool) -> None:
    """True when absent."""
    kept = taken(marker(collapse=said)).event.section_marker

    assert kept.HasField("collapse_earlier")
    assert kept.collapse_earlier is stored


def test_rule_11_label_and_source_are_brought_to_nfc() -> None:
    """And stored so."""
    kept = taken(marker("re\u0301sume\u0301", source="cafe\u0301")).event

    assert (kept.section_marker.label, kept.section_marker.source) == ("résumé", "café")
    assert kept.fallback == "— Section: résumé —"


def test_rule_11_a_notes_source_is_as_a_markers() -> None:
    """64 code points, the same characters, and the same normal form."""
    row = note()
    row.note.source = "x" * 65
    assert wrong_fields(row) == ["events[0].note.source"]

    row.note.source = "a\u200bb"
    assert wrong_fields(row) == ["events[0].note.source"]

    row.note.source = "cafe\u0301"
    assert taken(row).event.note.source == "café"


def test_rule_11_label_and_source_have_limits() -> None:
    """120 and 64 code points; both faults are told at once."""
    assert taken(marker("é" * 120, source="é" * 64)).event.section_marker.label == "é" * 120
    assert wrong_fields(marker("x" * 121, source="x" * 65)) == [
        "events[0].section_marker.label",
        "events[0].section_marker.source",
    ]


def test_rule_20_a_row_may_have_8_mib_and_not_a_byte_more() -> None:
    """As it was sent; what the server adds does not count."""
    room = limits.ROW_BYTES - reply("").ByteSize()
    largest = reply("x" * (room - 8))
    while largest.ByteSize() < limits.ROW_BYTES:
        largest.assistant_message.text += "x" * (limits.ROW_BYTES - largest.ByteSize())
    assert largest.ByteSize() == limits.ROW_BYTES
    assert taken(largest).event.assistant_message == largest.assistant_message

    largest.assistant_message.text += "x"
    refusal = refused(largest)
    assert refusal.reason_name == "ROW_TOO_LARGE"
    assert refusal.metadata == {"size": str(limits.ROW_BYTES + 1), "limit": str(limits.ROW_BYTES)}


def test_an_append_has_1_to_1000_rows() -> None:
    """None is no append."""
    assert wrong_fields() == ["events"]
    assert len(INTAKE.take([user() for _ in range(limits.APPEND_ROWS)])) == limits.APPEND_ROWS
    assert wrong_fields(*[user()] * (limits.APPEND_ROWS + 1)) == ["events"]


def test_an_append_has_8_mib_of_rows_as_sent() -> None:
    """What the server writes beside is not the sender's to count."""
    half = reply("x" * (limits.APPEND_BYTES // 2 - 20))
    while half.ByteSize() < limits.APPEND_BYTES // 2:
        half.assistant_message.text += "x"
    assert 2 * half.ByteSize() == limits.APPEND_BYTES
    assert wrong_fields(half, half, user()) == ["events"]
    assert len(INTAKE.take([copy(half), copy(half)])) == 2


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (Event(subagent_started=SubagentStarted(session_id="x" * 129)), "subagent_started.session_id"),
        (Event(input_receipt=InputReceipt(event_id="x" * 129)), "input_receipt.event_id"),
        (Event(session_forked=SessionForked(session_id="x" * 129)), "session_forked.session_id"),
        (Event(tool_call=ToolCall(name="x" * (16 * 1024 + 1))), "tool_call.name"),
        (Event(human_request=HumanRequest(request_id="q", options=["x"] * 65)), "human_request.options"),
        (ask("q" * (16 * 1024 + 1)), "human_request.request_id"),
        (ask(""), "human_request.request_id"),
        (respond(""), "human_response.request_id"),
        (user(id="x" * 129), "id"),
        (user(source_sequences=[1] * 1001), "source_sequences"),
        (user(source_sequences=[1, 0]), "source_sequences"),
        (user(source_sequences=[-1]), "source_sequences[0]"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_limit_that_the_contract_states_is_held_to(row: Event, field: str) -> None:
    """Each names its field."""
    assert wrong_fields(row) == [f"events[0].{field}"]


def test_a_row_is_judged_in_the_order_kind_size_fields_surface() -> None:
    """The first that is wrong is told."""
    huge = "x" * (limits.ROW_BYTES + 1)

    assert refused(Event(fallback=huge)).reason_name == "UNKNOWN_KIND"
    assert refused(reply(huge, sequence=1)).reason_name == "ROW_TOO_LARGE"
    status = copy(SPECIMENS["status"], surface=APPEND)
    assert wrong_fields(copy(status, sequence=1)) == ["events[0].sequence"]
    assert refused(status).reason_name == "BAD_SURFACE_OP"


def test_rule_3_id_and_time_are_no_part_of_the_content() -> None:
    """The same row under another id, or told at another time, has the same hash."""
    assert taken(user("x", id="a")).digest == taken(user("x", id="b", time=Timestamp(seconds=5))).digest


DIFFERENT: list[tuple[Callable[[], Event], Callable[[], Event]]] = [
    (lambda: user("x"), lambda: user("y")),
    (lambda: user("x"), lambda: reply("x")),
    (lambda: user("x"), lambda: user("x", surface=APPEND)),
    (lambda: marker("x"), lambda: marker("x", collapse=True)),
    (lambda: marker("e\u0301"), lambda: marker("\u00e9")),
    (lambda: user("x"), lambda: user("x", source_sequences=[1])),
    (lambda: result(), lambda: Event(tool_result=copy(result()).tool_result, surface=LOG_ONLY)),
    (lambda: Event(turn_started=TurnStarted()), lambda: Event(turn_started=TurnStarted(idle_timeout=Duration()))),
]


@pytest.mark.parametrize(
    ("one", "other"),
    DIFFERENT,
    ids=["text", "kind", "surface", "collapse", "nfc", "sources", "log_only", "timeout"],
)
def test_rule_3_rows_that_were_sent_differently_are_different(
    one: Callable[[], Event], other: Callable[[], Event]
) -> None:
    """A default left out and the same default written differ, though both are stored alike."""
    assert taken(one()).digest != taken(other()).digest


def test_rule_3_the_same_row_has_the_same_hash_and_another_key_another() -> None:
    """Keyed: a stored hash does not help to guess what was redacted."""
    assert taken(user("x")).digest == taken(user("x")).digest
    assert Intake(b"another store").take([user("x")])[0].digest != taken(user("x")).digest


def test_rule_3_the_hash_is_of_the_row_as_sent_and_redaction_comes_after_it() -> None:
    """A retry meets the hash of what was sent; nothing of the secret is kept, in the fallback neither."""

    def redact(event: Event) -> None:
        event.status.text = event.status.text.replace("secret", "***")

    sent = Event()
    sent.status.text = "a secret"
    (draft,) = Intake(b"key", redact).take([copy(sent)])

    assert draft.digest == Intake(b"key").take([copy(sent)])[0].digest
    assert draft.event.status.text == "a ***"
    assert draft.event.fallback == "Status: a ***"


def test_whether_the_writer_chose_the_id_is_remembered() -> None:
    """An id that is minted later was never used before."""
    assert taken(user(id="a")).named
    assert not taken(user()).named


def test_a_row_that_the_server_writes_is_completed_as_any_other() -> None:
    """Surface and fallback; a kind that it does not know it does not write."""
    row = server_row(Event(section_marker=SectionMarker()))

    assert row.surface == LOG_ONLY
    assert row.section_marker.collapse_earlier
    assert row.fallback == "— Section —"
    with pytest.raises(ValueError, match="known kinds"):
        server_row(Event())


@examples(50)
@given(st.integers(0, (1 << 48) * 1000 - 1), st.binary(min_size=10, max_size=10))
def test_a_minted_id_is_a_uuid_of_version_7(microseconds: int, random: bytes) -> None:
    """Its first 48 bits are the time in milliseconds."""
    minted = uuid.UUID(mint_id(microseconds, random))

    assert (minted.version, minted.variant) == (7, uuid.RFC_4122)
    assert minted.int >> 80 == microseconds // 1000
    assert str(minted) == mint_id(microseconds, random)


def test_minted_ids_sort_by_time() -> None:
    """A millisecond apart is enough, whatever the random part."""
    ids = [mint_id(at * 1000, random) for at, random in itertools.product(range(5), [b"\xff" * 10])]
    earlier, later = mint_id(4000, b"\xff" * 10), mint_id(5000, bytes(10))

    assert sorted(ids) == ids
    assert earlier < later


def test_an_origin_that_is_known_may_be_any() -> None:
    """Every value of the enum, the unspecified one included."""
    for origin in UserMessage.Origin.values():
        assert taken(user(origin=origin)).event.user_message.origin == origin
