"""Servers in processes of their own, on free ports of 127.0.0.1, ended by their process ids."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

STOP_SECONDS = 60


@dataclass(frozen=True)
class Server:
    """A server that is running.

    Attributes:
        address: Where it listens, host:port.
        pid: Its process.
        log: The file that its log goes to.
        log_begin: Where its log begins in that file.
    """

    address: str
    pid: int
    log: Path
    log_begin: int

    def processor_seconds(self) -> float:
        """The processor time that the server has used, of all its threads; 0 where the system does not say."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text()
        except OSError:
            return 0.0
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def handler_seconds(self, method: str) -> float:
        """The median time in the handler of a method's calls so far, as the server's log has it; 0 without any."""
        milliseconds = []
        for line in self.log.read_text()[self.log_begin :].splitlines():
            call = json.loads(line) if line.startswith("{") else {}
            if str(call.get("method", "")).endswith(f"/{method}"):
                milliseconds.append(call["ms"])
        return statistics.median(milliseconds) / 1000 if milliseconds else 0.0


@contextmanager
def transcript_server(folder: Path) -> Iterator[Server]:
    """The transcript server, with its data in a folder."""
    with _process("transcript_server", "--data", str(folder), "--grpc", "127.0.0.1:0", log=folder) as server:
        yield server


@contextmanager
def bare_server(folder: Path) -> Iterator[Server]:
    """A gRPC server that does nothing: what an empty call, and one message of a page's size, cost at least."""
    with _process("bench.bare", log=folder) as server:
        yield server


@contextmanager
def _process(module: str, *arguments: str, log: Path) -> Iterator[Server]:
    path = log.with_name(f"{log.name}.log")
    log_begin = path.stat().st_size if path.exists() else 0
    with path.open("a") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, stderr=errors, text=True
        )
    try:
        assert process.stdout is not None
        words = process.stdout.readline().split()
        if not words:
            raise RuntimeError(f"the server did not start: {path.read_text()[-2000:]}")
        yield Server(words[-1], process.pid, path, log_begin)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
