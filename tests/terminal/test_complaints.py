"""Errors say what went wrong, where and what to do, and lead to their place in docs/errors.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from grpc import StatusCode

from transcript import DeadlineExceeded, FieldViolation, InvalidField, PermissionDenied, TranscriptError, Unimplemented
from transcript import SessionNotFound as Missing
from transcript.v1.error_reason_pb2 import ErrorReason
from transcript_terminal.complaints import ADVICE, Complaint, complaint_of, entry_of

from .command import Command

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
REASONS = [name.removeprefix("ERROR_REASON_") for name, number in ErrorReason.items() if number]
TARGET = "127.0.0.1:50051"


def entries() -> dict[str, str]:
    """What the page says under each heading, by the heading's anchor."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(), flags=re.MULTILINE)
    return {name.lower().replace(" ", "-"): text for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def said(error: TranscriptError) -> str:
    return complaint_of(error, TARGET).format_message()


def test_every_reason_has_its_entry_with_causes_and_what_to_do() -> None:
    found = entries()

    assert sorted(ADVICE) == sorted(REASONS)
    for reason in REASONS:
        text = found[entry_of(reason)]
        assert f"`{reason}`" in text
        assert "- Common causes:" in text
        assert "- What to do:" in text


def test_every_entry_that_the_command_names_is_there() -> None:
    package = PAGE.parents[1] / "clients" / "terminal"
    named = {name for path in package.rglob("*.py") for name in re.findall(r'entry="([^"]+)"', path.read_text())}

    assert named <= entries().keys()
    assert {"no-server", "deadline"} <= named


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_is_told_with_the_server_and_its_entry(reason: str) -> None:
    error = TranscriptError(ErrorReason.Value(f"ERROR_REASON_{reason}"), "what went wrong", reason_name=reason)

    assert said(error).startswith(f"what went wrong (server {TARGET}); {ADVICE[reason]} (docs/errors.md#")
    assert said(error).endswith(f"#{entry_of(reason)})")


def test_what_the_error_is_about_is_named() -> None:
    reason = ErrorReason.ERROR_REASON_SESSION_NOT_FOUND
    wrong = InvalidField(
        ErrorReason.ERROR_REASON_INVALID_FIELD,
        "the request has fields that are wrong",
        violations=[FieldViolation(field="label", description="121 characters, at most 120")],
    )

    assert said(Missing(reason, "no such session", {"session_id": "s-1"})).startswith("no such session: s-1 (server")
    assert "; label: 121 characters, at most 120 (server" in said(wrong)


def test_what_the_server_says_is_not_said_twice() -> None:
    reason = ErrorReason.ERROR_REASON_INVALID_FIELD
    wrong = InvalidField(reason, "label: too long; cut it", violations=[FieldViolation("label", "too long; cut it")])

    assert said(wrong) == f"label: too long; cut it (server {TARGET}) (docs/errors.md#invalid-field)"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (DeadlineExceeded(ErrorReason.ERROR_REASON_UNSPECIFIED, "late"), f"no answer from {TARGET} in time; "),
        (
            Unimplemented(ErrorReason.ERROR_REASON_UNSPECIFIED, "?"),
            f"the server at {TARGET} does not have this call; ",
        ),
        (
            PermissionDenied(ErrorReason.ERROR_REASON_UNSPECIFIED, "no", code=StatusCode.PERMISSION_DENIED),
            f"no (PERMISSION_DENIED, server {TARGET}) (docs",
        ),
    ],
)
def test_an_error_without_a_reason_is_told_by_its_code(error: TranscriptError, text: str) -> None:
    assert said(error).startswith(text)


def test_a_complaint_is_safe_to_print(capsys: pytest.CaptureFixture[str]) -> None:
    Complaint("no \x1b]0;owned\x07session", do="look").show()

    assert capsys.readouterr().err == "transcript: no session; look\n"


async def test_without_a_server_the_command_says_how_to_start_one(alone: Command) -> None:
    ran = await alone("sessions", "--server", "127.0.0.1:1")

    assert ran.status == 1
    assert ran.stdout == ""
    assert ran.stderr == (
        "transcript: no server at 127.0.0.1:1; start one: transcript serve (docs/errors.md#no-server)\n"
    )


async def test_the_command_line_itself_is_checked_first(alone: Command) -> None:
    """Exit status 2, before any server is asked."""
    for arguments in (["show"], ["show", "x", "--all", "--before", "3"], ["sessions", "--label", "x"], ["tell"]):
        ran = await alone(*arguments)

        assert ran.status == 2, arguments
        assert "Traceback" not in ran.stderr


async def test_completion_prints_the_shells_script(alone: Command) -> None:
    for shell, line in (
        ("bash", "complete -o nosort"),
        ("zsh", "#compdef transcript"),
        ("fish", "complete --no-files"),
    ):
        ran = await alone("completion", shell)

        assert ran.status == 0
        assert line in ran.stdout
    offered = await alone(_TRANSCRIPT_COMPLETE="bash_complete", COMP_WORDS="transcript se", COMP_CWORD="1")
    assert offered.lines == ["plain,sections", "plain,serve", "plain,sessions"]
