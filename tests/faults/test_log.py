"""What the log says: every marker, note, reset, fork and deletion with what became of it, and no text (rule 32)."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import grpc.aio

from transcript.v1.event_pb2 import ContextReset, Event, Note, TurnStarted, UserMessage
from transcript.v1.journal_service_pb2 import AddNoteRequest, AddSectionMarkerRequest, ResetContextRequest
from transcript.v1.session_pb2 import Session
from transcript.v1.session_service_pb2 import DeleteSessionRequest, ForkSessionRequest

from .process import Process, calling

WORDS = "nobody-but-the-reader"


def every_line(log: Path) -> list[dict[str, object]]:
    """The log's lines."""
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def lines(log: Path, rpc: str) -> list[dict[str, object]]:
    """The log's lines about an RPC."""
    return [line for line in every_line(log) if str(line.get("method", "")).endswith(f"/{rpc}")]


async def test_rule_32_each_is_logged_with_its_outcome_as_it_was(tmp_path: Path):
    """Landed, held or refused: a refusal is not told as a success. Nobody's text is in it."""
    async with Process(tmp_path / "data") as server, calling(server.address) as caller:
        journal, sessions = caller.journal, caller.sessions
        await caller.create("a")
        note = Note(text=WORDS)
        await journal.AddSectionMarker(AddSectionMarkerRequest(session_id="a", label=WORDS, event_id="m1"))
        await caller.append("a", Event(user_message=UserMessage(text=WORDS)), Event(turn_started=TurnStarted()))
        for number in range(10):
            await journal.AddNote(AddNoteRequest(session_id="a", note=note, event_id=f"n{number}"))
        with contextlib.suppress(grpc.aio.AioRpcError):
            await journal.ResetContext(ResetContextRequest(session_id="a", reason=WORDS, event_id="r1"))
        with contextlib.suppress(grpc.aio.AioRpcError):
            await caller.append("a", Event(id="r2", context_reset=ContextReset(reason=WORDS)))
        await sessions.ForkSession(ForkSessionRequest(source_session_id="a", session=Session(id="b")))
        with contextlib.suppress(grpc.aio.AioRpcError):
            await sessions.ForkSession(
                ForkSessionRequest(source_session_id="a", through_sequence=99, session=Session(id="c"))
            )
        await sessions.DeleteSession(DeleteSessionRequest(session_id="b"))
        with contextlib.suppress(grpc.aio.AioRpcError):
            await sessions.DeleteSession(DeleteSessionRequest(session_id="b"))
        server.terminate()
        assert await server.gone() == 0
    log = server.log
    audited = [line for line in every_line(log) if line["message"] == "audit"]
    assert [(line["event_id"], line["outcome"]) for line in audited] == [
        ("m1", "row 1"),
        *[(f"n{number}", "held") for number in range(10)],
        ("r1", "refused"),
        ("r2", "refused"),
    ]
    assert {line["session_id"] for line in audited} == {"a"}
    assert [line["reason"] for line in lines(log, "ForkSession")] == ["", "SEQUENCE_AHEAD"]
    assert [line["reason"] for line in lines(log, "DeleteSession")] == ["", "SESSION_NOT_FOUND"]
    for line in (*lines(log, "ForkSession"), *lines(log, "DeleteSession")):
        assert line["session_id"] in {"a", "b", "c"}
    assert WORDS not in log.read_text()
