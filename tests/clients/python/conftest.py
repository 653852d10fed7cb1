"""A scripted server and a client of it, and proxies that can be cut."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from scripted_server import Proxy, ScriptedServer

from transcript import Client, connect
from transcript_server.app import Serving


@pytest.fixture
async def scripted() -> AsyncIterator[ScriptedServer]:
    """A server whose answers the test writes."""
    server = ScriptedServer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def proxy(scripted: ScriptedServer) -> AsyncIterator[Proxy]:
    """A proxy before the scripted server."""
    proxy = Proxy(scripted.port)
    await proxy.start()
    yield proxy
    await proxy.stop()


@pytest.fixture
async def caller(scripted: ScriptedServer) -> AsyncIterator[Client]:
    """A client of the scripted server."""
    async with connect(scripted.address) as client:
        yield client


@pytest.fixture
async def far(server: Serving) -> AsyncIterator[Proxy]:
    """A proxy before the real server."""
    proxy = Proxy(int(server.address.rpartition(":")[2]))
    await proxy.start()
    yield proxy
    await proxy.stop()
