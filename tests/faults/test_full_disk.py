"""A store without room refuses writes, serves reads, and goes on once there is room (section 8)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import grpc
import grpc.aio
import pytest

from transcript.v1.event_pb2 import AssistantMessage, Event
from transcript.v1.transcript_service_pb2 import ReadPageRequest

from .process import Caller, Process, calling
from .test_drain import reason

SIZE = "6m"
BALLAST = 2 << 20


def small_disk(folder: Path) -> list[str]:
    """A command that runs another with a small file system of its own at `folder`."""
    folder.mkdir()
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    mount = f'mount -t tmpfs -o size={SIZE} tmpfs "{folder}" && head -c {BALLAST} /dev/zero > "{folder}/ballast"'
    command = [*namespace, "sh", "-c", f'{mount} && exec "$@"', "sh"]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("no small file system can be mounted here")
    return command


def make_room(server: Process, folder: Path) -> None:
    """Takes the ballast away, which only the server's own file system has."""
    Path(f"/proc/{server.popen.pid}/root{folder}/ballast").unlink()


async def filled(caller: Caller) -> tuple[list[str], grpc.aio.AioRpcError]:
    """Appends until it is refused."""
    answered: list[str] = []
    for number in range(2000):
        event = Event(id=f"{number}", assistant_message=AssistantMessage(text="x" * 20_000))
        try:
            await caller.append("a", event)
        except grpc.aio.AioRpcError as error:
            return answered, error
        answered.append(event.id)
    message = "the disk is larger than it should be"
    raise AssertionError(message)


async def test_a_full_disk_refuses_writes_serves_reads_and_recovers_by_itself(tmp_path: Path):
    """STORE_FULL; nothing that was answered is lost, nothing that was refused is there."""
    disk = tmp_path / "disk"
    before = small_disk(disk)
    process = Process(disk / "data", before)
    process.log = tmp_path / "server.log"
    async with process as server, calling(server.address) as caller:
        await caller.create("a")
        answered, error = await filled(caller)
        assert (error.code(), reason(error)) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "STORE_FULL")
        assert answered
        for _ in range(3):
            assert [row.id for row in await caller.rows("a")] == answered
            stream = caller.transcript.ReadPage(ReadPageRequest(session_id="a", page_size=5))
            assert sum([len(part.events.events) async for part in stream]) >= 5
            with pytest.raises(grpc.aio.AioRpcError, match="RESOURCE_EXHAUSTED"):
                await caller.append("a", Event(assistant_message=AssistantMessage(text="y" * 500_000)))
        make_room(server, disk)
        answer = await caller.append("a", Event(id="room", assistant_message=AssistantMessage(text="x")))
        assert answer.sequences == [len(answered) + 1]
        assert [row.id for row in await caller.rows("a")] == [*answered, "room"]
