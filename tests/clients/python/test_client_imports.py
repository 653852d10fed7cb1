"""What importing the client's parts brings along."""

from __future__ import annotations

import subprocess
import sys

import pytest

import transcript
from transcript import errors


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter has after *statement*."""
    code = f"{statement}\nimport sys; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement", ["import transcript", "import transcript.v1.event_pb2", "from transcript import new_id"]
)
def test_the_messages_alone_come_without_grpc(statement: str) -> None:
    loaded = loaded_by(statement)

    assert not {"grpc", "grpc_status", "transcript.client", "transcript.errors"} & loaded


def test_the_servers_rules_come_without_grpc() -> None:
    assert "grpc" not in loaded_by("import transcript_server.rules, transcript.v1.event_pb2")


def test_a_name_of_the_client_is_loaded_when_it_is_used() -> None:
    assert {"grpc", "transcript.client"} <= loaded_by("from transcript import connect")


def test_every_public_name_is_there() -> None:
    for name in transcript.__all__:
        assert getattr(transcript, name).__name__ == name
    assert dir(transcript) == transcript.__all__


def test_every_error_is_a_public_name() -> None:
    kinds = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.TranscriptError)
    }

    assert kinds <= set(transcript.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = transcript.nothing  # type: ignore[attr-defined]
