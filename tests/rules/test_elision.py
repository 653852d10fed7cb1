"""Rule 20's cut copies, and rule 23's checkpoint without its text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st
from semantics.rows import checkpoint, reply, result, user
from semantics.world import examples

from transcript.v1.event_pb2 import Attachment, Event, ToolResult, UserMessage
from transcript_server.rules.elision import page_form
from transcript_server.rules.facts import KINDS, is_elidable
from transcript_server.rules.limits import ELIDED_FIELD_BYTES, ELIDED_ROW_BYTES

from .specimens import SPECIMENS

CUT_KINDS = [name for name, kind in KINDS.items() if kind.elidable and name != "compaction_checkpoint"]


def form(event: Event) -> Event | None:
    """The copy of a row as it is stored."""
    return page_form(event, event.ByteSize())


def elidable_values(message: Message) -> Iterator[tuple[Message, FieldDescriptor]]:
    """Every field that may be cut, at any depth, set or not: by walking the messages, not by the server's list."""
    for field in message.DESCRIPTOR.fields:
        if is_elidable(field):
            yield message, field
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in value if field.is_repeated else [value]:
                yield from elidable_values(part)


def size_of(value: str | bytes) -> int:
    return len(value.encode() if isinstance(value, str) else value)


# Texts by how they are made: a long one is slow to draw, and prints badly.
RECIPES = st.tuples(
    st.text("aé汉😀", max_size=5),
    st.text("aé汉😀", min_size=1, max_size=3),
    st.sampled_from([0, 100, 5_000, 6_000, 8_192, 16_384, 20_000]),
)
DATA_SIZES = st.lists(st.sampled_from([0, 10, 20_000, 70_000]), max_size=3)


def built(kind: str, recipe: tuple[str, str, int], sizes: list[int]) -> Event:
    """A row of a kind that may be cut, with such a text, and attachments of these sizes where it may have any."""
    event = Event()
    event.CopyFrom(SPECIMENS[kind])
    payload = getattr(event, kind)
    if "attachments" in payload.DESCRIPTOR.fields_by_name:
        for size in sizes:
            payload.attachments.add(name="a", media_type="image/png", data=b"x" * size)
        payload.attachments.add(uri="https://example.com/x")
    start, unit, count = recipe
    for message, field in elidable_values(payload):
        if field.type == FieldDescriptor.TYPE_STRING:
            setattr(message, field.name, start + unit * count)
    return event


def may_be_cut(value: str | bytes) -> bool:
    return size_of(value) > (0 if isinstance(value, bytes) else ELIDED_FIELD_BYTES)


@examples(60)
@given(st.sampled_from(CUT_KINDS), RECIPES, DATA_SIZES)
def test_rule_20_a_cut_copy_differs_in_what_it_leaves_out_and_says_how_much(
    kind: str, recipe: tuple[str, str, int], sizes: list[int]
) -> None:
    """Texts are prefixes of whole characters, as long as 16 KiB allow; data is left out; the sum is told."""
    event = built(kind, recipe, sizes)
    before = event.SerializeToString()
    copy = form(event)

    assert event.SerializeToString() == before
    whole = [getattr(message, field.name) for message, field in elidable_values(event)]
    assert (copy is not None) == (event.ByteSize() > ELIDED_ROW_BYTES and any(may_be_cut(value) for value in whole))
    if copy is None:
        return
    left_out = 0
    for value, (message, field) in zip(whole, elidable_values(copy), strict=True):
        kept = getattr(message, field.name)
        left_out += size_of(value) - size_of(kept)
        if isinstance(value, str) and may_be_cut(value):
            assert value.startswith(kept)
            assert size_of(kept) <= ELIDED_FIELD_BYTES < size_of(value[: len(kept) + 1])
        else:
            assert kept == (b"" if isinstance(value, bytes) else value)
        if kept != value:
            setattr(message, field.name, value)
    assert copy.elided_bytes == left_out
    copy.ClearField("elided_bytes")
    assert copy == event, "nothing else differs"


@pytest.mark.parametrize("name", CUT_KINDS)
def test_rule_20_the_text_of_every_kind_that_may_be_cut_is_cut(name: str) -> None:
    """The kinds are those with an elidable field, and none is forgotten."""
    event = Event()
    event.CopyFrom(SPECIMENS[name])
    payload = getattr(event, name)
    (field,) = [field for field in payload.DESCRIPTOR.fields if is_elidable(field)]
    setattr(payload, field.name, "x" * (ELIDED_ROW_BYTES + 1))

    copy = form(event)
    assert copy is not None
    assert getattr(getattr(copy, name), field.name) == "x" * ELIDED_FIELD_BYTES


def test_rule_20_a_row_of_64_kib_is_served_as_it_is() -> None:
    """Only one over that is cut."""
    event = reply("x" * (ELIDED_ROW_BYTES - 20))
    event.assistant_message.text += "x" * (ELIDED_ROW_BYTES - event.ByteSize())
    assert event.ByteSize() == ELIDED_ROW_BYTES
    assert form(event) is None

    event.assistant_message.text += "x"
    assert form(event) is not None


@pytest.mark.parametrize("character", ["é", "汉", "😀"])
@pytest.mark.parametrize("shift", range(4))
def test_rule_20_no_character_is_cut_in_two(character: str, shift: int) -> None:
    """However its bytes lie across the 16 KiB."""
    copy = form(reply("a" * shift + character * 40_000))

    assert copy is not None
    kept = copy.assistant_message.text
    assert set(kept) <= {"a", character}
    assert ELIDED_FIELD_BYTES - len(character.encode()) < size_of(kept) <= ELIDED_FIELD_BYTES


def test_rule_20_attachment_data_is_left_out_and_what_names_it_stays() -> None:
    """Also where the text alone would be short."""
    event = Event(
        user_message=UserMessage(
            text="look",
            attachments=[
                Attachment(name="a.png", media_type="image/png", data=b"x" * 70_000),
                Attachment(name="b.png", uri="https://example.com/b.png"),
                Attachment(name="c.txt", data=b"abc"),
            ],
        )
    )
    copy = form(event)

    assert copy is not None
    assert copy.elided_bytes == 70_003
    assert copy.user_message.text == "look"
    assert [(item.name, item.WhichOneof("body")) for item in copy.user_message.attachments] == [
        ("a.png", None),
        ("b.png", "uri"),
        ("c.txt", None),
    ]


def test_rule_20_what_is_not_elidable_is_never_cut() -> None:
    """A large row without anything to cut is served whole, and says so."""
    event = Event()
    event.thinking.signature = b"x" * 100_000
    assert form(event) is None

    event.thinking.text = "y" * 20_000
    copy = form(event)
    assert copy is not None
    assert copy.thinking.signature == event.thinking.signature
    assert copy.elided_bytes == 20_000 - ELIDED_FIELD_BYTES


def test_rule_20_what_a_row_says_beside_its_payload_stays() -> None:
    """Its place, its surface, its time."""
    event = Event(
        sequence=7, id="a", turn=2, tool_result=ToolResult(call_id="c", text="x" * 70_000, is_error=True, exit_code=1)
    )
    event.surface.append.SetInParent()
    copy = form(event)

    assert copy is not None
    copy.tool_result.text = event.tool_result.text
    copy.ClearField("elided_bytes")
    assert copy == event


def test_rule_6_a_row_of_a_kind_that_is_not_known_is_passed_through() -> None:
    """Nobody knows what of it may be cut."""
    newer = Event.FromString(Event(sequence=3).SerializeToString() + b"\xa2\x06\x80\xf1\x04" + b"x" * 80_000)
    assert newer.ByteSize() > ELIDED_ROW_BYTES
    assert form(newer) is None


@pytest.mark.parametrize("size", [1, 100, 100_000])
def test_rule_23_a_checkpoints_text_is_empty_for_readers_and_counts_for_nothing(size: int) -> None:
    """However long it is: it is for the model, not left out."""
    event = checkpoint(1, 3, "c1")
    event.compaction_checkpoint.text = "x" * size
    event.compaction_checkpoint.summary_sequence = 2
    copy = form(event)

    assert copy is not None
    assert (copy.compaction_checkpoint.text, copy.elided_bytes) == ("", 0)
    copy.compaction_checkpoint.text = event.compaction_checkpoint.text
    assert copy == event


def test_rule_23_a_checkpoint_without_text_is_served_as_it_is() -> None:
    """There is nothing to take out."""
    event = checkpoint(1, 3)
    event.compaction_checkpoint.text = ""

    assert form(event) is None


def test_a_small_row_is_served_as_it_is() -> None:
    """So that its stored bytes go out."""
    assert [form(event) for event in (user(), reply(), result(), SPECIMENS["section_marker"])] == [None] * 4
