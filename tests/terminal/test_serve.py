"""`transcript serve` and `transcript demo`: servers that the command starts itself."""

from __future__ import annotations

import re
from pathlib import Path

from transcript import connect
from transcript.v1.event_pb2 import Event
from transcript_terminal.demo import samples, tour

from .command import Command, bare


def below(folder: Path, pattern: str) -> list[Path]:
    return list(folder.glob(pattern))


async def test_serve_prints_its_address_and_keeps_what_it_was_told(alone: Command, tmp_path: Path) -> None:
    running = await alone.start("serve", "--data", str(tmp_path / "data"), "--grpc", "127.0.0.1:0")
    address = (await running.until("\n")).removeprefix("grpc ").strip()
    async with connect(address) as client:
        await client.create_session("kept")
    assert (await alone("sessions", "--server", address)).stdout.startswith("kept")
    taken = await alone("serve", "--data", str(tmp_path / "other"), "--grpc", address)
    assert taken.status == 1
    assert taken.stderr.startswith("transcript: cannot serve: ")
    assert taken.stderr.endswith("(docs/errors.md#cannot-serve)\n")
    ended = await running.interrupt()

    assert ended.status == 0
    assert "Traceback" not in ended.stderr


async def test_serve_keeps_its_data_in_the_users_own_folder(alone: Command, tmp_path: Path) -> None:
    running = await alone.start("serve", "--grpc", "127.0.0.1:0")
    await running.until("grpc 127.0.0.1:")
    await running.interrupt()

    assert below(tmp_path, "**/transcript/*"), "HOME"


async def test_the_demo_once_shows_the_walk_and_what_to_try(alone: Command, tmp_path: Path) -> None:
    ran = await alone("demo", "--once", TMPDIR=str(tmp_path))

    assert ran.status == 0
    assert "3 earlier sections · 412 retry on 429 · 418 thumbnails in the background · 421 albums by name" in ran.stdout
    assert "? question" in ran.stdout
    assert re.search(
        r"""grpcurl -plaintext -d '{"session_id":"review-walk"}' 127.0.0.1:\d+ """
        r"transcript.v1.TranscriptService/ReadPage",
        ran.stdout,
    )
    assert not below(tmp_path, "transcript-demo-*"), "its folder is removed"
    assert (await alone("demo")).status == 0, "without a terminal it ends by itself"
    elsewhere = await alone("demo", "--grpc", "nowhere")
    assert elsewhere.status == 1
    assert elsewhere.stderr.startswith("transcript: cannot serve: nowhere is not host:port")


async def test_the_demo_serves_on_a_terminal_until_ctrl_c(alone: Command, tmp_path: Path) -> None:
    terminal = await alone.on_terminal("demo", width=200, TMPDIR=str(tmp_path))
    seen = bare(await terminal.until("until Ctrl-C."))
    address = re.search(r"TRANSCRIPT_SERVER=(\S+)", seen)[1]
    for line in re.findall(r"^  transcript (.+?)\s*$", seen, re.MULTILINE):
        arguments = line.partition("#")[0].replace("'Ship it after lunch.'", "later").split()
        if arguments[0] not in {"tail", "import"}:
            ran = await alone(*arguments, TRANSCRIPT_SERVER=address)
            assert (ran.status, bool(ran.stdout)) == (0, True), line
    assert below(tmp_path, "transcript-demo-*")
    terminal.interrupt()
    ended = await terminal.end()

    assert ended.status == 0
    assert not below(tmp_path, "transcript-demo-*")


def test_the_samples_are_whole() -> None:
    """The walk has what a reader should see once: sections, tools, a question, a compaction that replaces its rows."""
    kinds = {row.WhichOneof("payload") for row in samples.walk()}
    checkpoint = next(row for row in samples.walk() if row.HasField("compaction_checkpoint"))

    assert {
        "section_marker",
        "tool_call",
        "tool_result",
        "human_request",
        "human_response",
        "compaction_started",
        "compaction_summary",
        "compaction_ended",
    } <= kinds
    assert checkpoint.surface.replace.start_sequence == 2
    assert all(isinstance(row, Event) and row.id and row.HasField("time") for row in samples.walk())


def test_what_to_try_names_the_server() -> None:
    assert all("127.0.0.1:7" in line for line in tour.next_steps("127.0.0.1:7").splitlines() if "grpcurl" in line)
