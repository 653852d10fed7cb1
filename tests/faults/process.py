"""A server in a process of its own, to be killed."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType

import grpc.aio

from transcript.v1 import (
    context_service_pb2_grpc,
    journal_service_pb2_grpc,
    session_service_pb2_grpc,
    transcript_service_pb2_grpc,
)
from transcript.v1.event_pb2 import Event
from transcript.v1.journal_service_pb2 import AppendEventsRequest, AppendEventsResponse, ReadEventsRequest
from transcript.v1.session_pb2 import Session
from transcript.v1.session_service_pb2 import CreateSessionRequest, GetSessionRequest

OPTIONS = [("grpc.max_receive_message_length", 16 << 20)]
START_SECONDS = 30.0


class Process:
    """`python -m transcript_server`; `async with` starts it and leaves none behind."""

    def __init__(self, data: Path, before: Sequence[str] = ()) -> None:
        self.data = data
        self.before = before
        self.log = data.with_name(f"{data.name}.log")
        self.address = ""

    def start(self) -> subprocess.Popen[bytes]:
        """Starts it; it says on its output where it listens."""
        command = [*self.before, sys.executable, "-m", "transcript_server"]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*command, "--data", str(self.data), "--grpc", "127.0.0.1:0"],
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )

    async def __aenter__(self) -> Process:
        self.popen = self.start()
        line = await asyncio.wait_for(asyncio.to_thread(self.popen.stdout.readline), START_SECONDS)
        found = re.search(rb"grpc (\S+:\d+)", line)
        assert found, (line, self.log.read_text()[-2000:])
        self.address = found[1].decode()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.popen.poll() is None:
            os.killpg(self.popen.pid, signal.SIGKILL)
        await self.gone()

    def kill(self) -> None:
        """No warning, no last word."""
        self.popen.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """As an operator stops it."""
        self.popen.send_signal(signal.SIGTERM)

    async def gone(self) -> int:
        """Its exit status, once it has one."""
        status = await asyncio.wait_for(asyncio.to_thread(self.popen.wait), START_SECONDS)
        self.popen.stdout.close()
        return status

    def memory(self) -> int:
        """Bytes that it has in memory."""
        status = Path(f"/proc/{self.popen.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) << 10


class Caller:
    """Stubs on a channel."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self.sessions = session_service_pb2_grpc.SessionServiceStub(channel)
        self.journal = journal_service_pb2_grpc.JournalServiceStub(channel)
        self.transcript = transcript_service_pb2_grpc.TranscriptServiceStub(channel)
        self.context = context_service_pb2_grpc.ContextServiceStub(channel)

    async def create(self, session_id: str) -> Session:
        """A session; the same one if it is there."""
        return (await self.sessions.CreateSession(CreateSessionRequest(session=Session(id=session_id)))).session

    async def session(self, session_id: str) -> Session:
        """The session as it is now."""
        return (await self.sessions.GetSession(GetSessionRequest(session_id=session_id))).session

    async def append(self, session_id: str, *events: Event) -> AppendEventsResponse:
        """Appends rows."""
        return await self.journal.AppendEvents(AppendEventsRequest(session_id=session_id, events=events))

    async def rows(self, session_id: str) -> list[Event]:
        """The whole journal."""
        stream = self.journal.ReadEvents(ReadEventsRequest(session_id=session_id))
        return [row async for part in stream for row in part.events]


@asynccontextmanager
async def calling(address: str) -> AsyncIterator[Caller]:
    """A connection."""
    async with grpc.aio.insecure_channel(address, options=OPTIONS) as channel:
        yield Caller(channel)
