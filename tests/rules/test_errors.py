"""How a call is refused: by a reason with a code, and words that say what to do."""

from __future__ import annotations

import re
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor import EnumValueDescriptor

from transcript.v1.error_reason_pb2 import ErrorReason
from transcript_server.rules.errors import (
    CODES,
    Refusal,
    Violation,
    bad_surface_range,
    invalid_field,
    sequence_ahead,
    session_not_found,
)
from transcript_server.rules.intake import refuse_invalid

CONTRACT = Path(__file__).parents[2] / "proto/transcript/v1/error_reason.proto"
REASONS = [value for value in ErrorReason.DESCRIPTOR.values if value.number]


def comment_on(reason: str) -> str:
    """What the contract says of a reason."""
    found = re.search(rf"^ *// (.*)\n *{reason} = ", CONTRACT.read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def metadata_keys(reason: str) -> set[str]:
    """The keys that a reason's comment names."""
    named = re.search(r"Metadata: ([^.]*)\.", comment_on(reason))
    return set(re.findall(r"\w+_\w+|\b(?:size|limit|sequence)\b", named[1])) if named else set()


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.name)
def test_every_reason_has_the_code_that_its_comment_gives(reason: EnumValueDescriptor) -> None:
    """By its canonical name, since the rules do not know gRPC."""
    refusal = Refusal(reason.number, "why")

    assert refusal.code == comment_on(reason.name).partition(".")[0]
    assert hasattr(grpc.StatusCode, refusal.code)
    assert f"ERROR_REASON_{refusal.reason_name}" == reason.name


def test_no_other_reason_has_a_code() -> None:
    """What is never sent has none, the unspecified reason least of all."""
    assert {*CODES} == {reason.number for reason in REASONS}


@pytest.mark.parametrize(
    "refusal",
    [session_not_found("s"), sequence_ahead("after_sequence", 9, 4)],
    ids=lambda refusal: refusal.reason_name,
)
def test_a_refusal_carries_the_metadata_that_its_comment_names(refusal: Refusal) -> None:
    """As text, whatever it was; and what varies in the message is in it."""
    keys = metadata_keys(f"ERROR_REASON_{refusal.reason_name}")

    assert keys
    assert refusal.metadata.keys() == keys
    assert all(value in refusal.message for value in refusal.metadata.values())


def test_a_surface_range_is_told_by_its_ends() -> None:
    """Of a rewind, by the row that it named."""
    assert bad_surface_range("why", start_sequence=1, end_sequence=2).metadata == {
        "start_sequence": "1", "end_sequence": "2",
    }  # fmt: skip
    assert {"start_sequence", "end_sequence", "after_sequence"} == set(
        re.findall(r"\w+_sequence", comment_on("ERROR_REASON_BAD_SURFACE_RANGE"))
    )


def test_an_invalid_field_names_the_field_in_its_message_and_as_a_violation() -> None:
    """For people, and for programs."""
    refusal = invalid_field("label", "is too long")

    assert (refusal.message, refusal.violations) == ("label: is too long", (Violation("label", "is too long"),))


def test_all_wrong_fields_are_told_at_once_and_none_is_no_refusal() -> None:
    """One answer is enough to mend a request."""
    refuse_invalid([])
    with pytest.raises(Refusal) as caught:
        refuse_invalid(iter([Violation("a", "is wrong"), Violation("b", "is wrong too")]))

    assert caught.value.message == "a: is wrong; b: is wrong too"
    assert [violation.field for violation in caught.value.violations] == ["a", "b"]
