"""An answered append has been flushed: seen from outside, by the system calls that the server makes (rule 2)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from transcript.v1.event_pb2 import Event, Status

from .process import Process, calling

APPENDS = 1000 if os.environ.get("TRANSCRIPT_THOROUGH") == "1" else 60
LINE = re.compile(
    r"^(?P<pid>\d+) +(?P<at>\d+\.\d+) (?P<call>pwrite64|pwritev|write|fdatasync|fsync)\((?P<file>\d+<[^>]*>)"
)
ENDED = re.compile(r"<(?P<seconds>\d+\.\d+)>$")
RESUMED = re.compile(r"^(?P<pid>\d+) +(?P<at>\d+\.\d+) <\.\.\. (?P<call>\w+) resumed>")


def unflushed(trace: str, answers: list[tuple[float, float]]) -> list[int]:
    """The answers before which a write to a log was not followed by a flush of it."""
    last_write: list[tuple[float, str]] = []
    flushes: list[tuple[float, float, str]] = []
    waiting: dict[str, tuple[float, str]] = {}
    for line in trace.splitlines():
        if (found := LINE.match(line)) and "-wal" in found["file"]:
            at = float(found["at"])
            if "write" in found["call"]:
                last_write.append((at, found["file"]))
            elif "unfinished" in line:
                waiting[found["pid"]] = (at, found["file"])
            elif took := ENDED.search(line):
                flushes.append((at, at + float(took["seconds"]), found["file"]))
        elif (found := RESUMED.match(line)) and found["call"] in {"fdatasync", "fsync"} and found["pid"] in waiting:
            began, file = waiting.pop(found["pid"])
            flushes.append((began, float(found["at"]), file))
    bad = []
    for number, (asked, answered) in enumerate(answers):
        writes = [write for write in last_write if asked < write[0] < answered]
        if not writes:
            bad.append(number)
            continue
        at, file = writes[-1]
        if not any(began > at and ended < answered and each == file for began, ended, each in flushes):
            bad.append(number)
    return bad


def test_the_check_itself_finds_an_answer_that_was_not_flushed():
    """A trace made by hand: the second answer came between the write and the flush."""
    trace = "\n".join([
        "7  10.000001 pwrite64(5</d/x-wal>, ..., 4096, 0) = 4096 <0.000010>",
        "7  10.000100 fdatasync(5</d/x-wal>) = 0 <0.000200>",
        "7  11.000001 pwrite64(5</d/x-wal>, ..., 4096, 4096) = 4096 <0.000010>",
        "7  11.000100 fdatasync(5</d/x-wal> <unfinished ...>",
        "7  11.500000 <... fdatasync resumed>) = 0 <0.499900>",
    ])  # fmt: skip
    assert unflushed(trace, [(9.9, 10.5), (10.9, 11.2)]) == [1]
    assert unflushed(trace, [(9.9, 10.5), (10.9, 11.6)]) == []
    assert unflushed("", [(1.0, 2.0)]) == [0]


@pytest.fixture
def traced(tmp_path: Path) -> list[str]:
    """A command that runs another and writes its calls down."""
    calls = "trace=pwrite64,pwritev,write,fdatasync,fsync"
    command = ["strace", "-f", "-y", "-ttt", "-T", "-s", "0", "-e", calls, "-o", str(tmp_path / "trace")]
    if shutil.which("strace") is None or subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("strace is not here, or may not trace")
    return command


async def test_rule_2_an_append_is_flushed_before_it_is_answered(tmp_path: Path, traced: list[str]):
    """Each answer comes after the flush of the last write to the log."""
    answers: list[tuple[float, float]] = []
    async with Process(tmp_path / "data", traced) as server, calling(server.address) as caller:
        await caller.create("a")
        for number in range(APPENDS):
            asked = time.time()
            await caller.append("a", Event(status=Status(text=f"{number}")))
            answers.append((asked, time.time()))
    assert unflushed((tmp_path / "trace").read_text(), answers) == []
