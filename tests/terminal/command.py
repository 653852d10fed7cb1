"""The command as a person runs it: a process of its own, its outputs pipes or a terminal."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

EXECUTABLE = Path(sys.executable).with_name("transcript")
SECONDS = 60


@dataclass(frozen=True)
class Ran:
    """How a run ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[str]:
        return self.stdout.splitlines()


class Command:
    """Runs `transcript`, against one server unless told otherwise."""

    def __init__(self, home: Path, server: str = "") -> None:
        self.environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TERM": "xterm-256color",
            **({"TRANSCRIPT_SERVER": server} if server else {}),
        }

    async def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Ran:
        """Run it with pipes and wait for its end."""
        process = await asyncio.create_subprocess_exec(
            EXECUTABLE,
            *arguments,
            env=self.environment | environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(SECONDS):
            stdout, stderr = await process.communicate(stdin.encode())
        return Ran(process.returncode or 0, stdout.decode(), stderr.decode())

    async def start(self, *arguments: str) -> Started:
        """Begin it with pipes."""
        process = await asyncio.create_subprocess_exec(
            EXECUTABLE,
            *arguments,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        return Started(process)

    async def on_terminal(self, *arguments: str, width: int = 80, **environment: str) -> Terminal:
        """Begin it on a terminal of this width."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        process = await asyncio.create_subprocess_exec(
            EXECUTABLE,
            *arguments,
            env=self.environment | environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        return Terminal(process, ours)


class Started:
    """A run that goes on."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.seen = ""

    async def until(self, text: str) -> str:
        """Read stdout until the text stands there."""
        assert self.process.stdout
        async with asyncio.timeout(SECONDS):
            while text not in self.seen:
                more = await self.process.stdout.read(4096)
                assert more, f"ended without {text!r}: {self.seen}"
                self.seen += more.decode()
        return self.seen

    async def interrupt(self) -> Ran:
        """Press Ctrl-C and wait for its end."""
        self.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(SECONDS):
            stdout, stderr = await self.process.communicate()
        return Ran(self.process.returncode or 0, self.seen + stdout.decode(), stderr.decode())


class Terminal:
    """A run on a terminal."""

    def __init__(self, process: asyncio.subprocess.Process, ours: int) -> None:
        self._process = process
        self._ours = ours
        self.seen = ""

    async def until(self, text: str) -> str:
        """Read the screen until the text stands there."""
        async with asyncio.timeout(SECONDS):
            while text not in self.seen:
                assert await self._read(), f"ended without {text!r}: {self.seen!r}"
        return self.seen

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    async def end(self) -> Ran:
        """Read all there is to come, and wait for the end."""
        async with asyncio.timeout(SECONDS):
            while await self._read():
                pass
            status = await self._process.wait()
        os.close(self._ours)
        return Ran(status, self.seen.replace("\r\n", "\n"), "")

    async def _read(self) -> bool:
        try:
            more = await asyncio.to_thread(os.read, self._ours, 65536)
        except OSError:  # nobody has the other end any more
            return False
        self.seen += more.decode(errors="replace")
        return bool(more)


def bare(text: str) -> str:
    """What a terminal shows of it: the text without colours and cursor movements."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def rows_of(lines: Sequence[str]) -> list[str]:
    """The lines without the empty ones."""
    return [line.strip() for line in lines if line.strip()]
