"""Fixtures shared by all tests: a real server on the embedded store, and ways to reach it."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import grpc.aio
import pytest

from transcript import Client, connect
from transcript_server.app import Config, Serving, serving

SHARED = Path(__file__).resolve().parents[2] / "shared"


def pytest_configure() -> None:
    """Has the programs that tests start take Ctrl-C, which a run that was begun in the background would ignore."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def shared_data() -> Path:
    """The folder of real logs that lies beside a checkout; a test that needs it is reported as skipped without it."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the real logs (../shared/data) are not here")
    return folder


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """The server's configuration; a test overrides this fixture to change it."""
    return Config(data=tmp_path / "data", grpc="127.0.0.1:0")


@pytest.fixture
async def server(config: Config) -> AsyncIterator[Serving]:
    """A real server in this process, on a free port of 127.0.0.1."""
    async with serving(config) as running:
        yield running


@pytest.fixture
async def channel(server: Serving) -> AsyncIterator[grpc.aio.Channel]:
    """A bare channel for generated stubs."""
    async with grpc.aio.insecure_channel(
        server.address, options=[("grpc.max_receive_message_length", 16 << 20)]
    ) as channel:
        yield channel


@pytest.fixture
async def client(server: Serving) -> AsyncIterator[Client]:
    """The Python client."""
    async with connect(server.address) as client:
        yield client
