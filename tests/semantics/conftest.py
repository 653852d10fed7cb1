"""One server for the whole folder: every example of every property makes its own session on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import grpc.aio
import pytest

from .rows import ask, reply, user
from .spoiling import path_of
from .wire import Wire
from .world import THOROUGH, World


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With TRANSCRIPT_THOROUGH=1 the properties of this folder are tried often, and are `thorough` themselves."""
    for item in items:
        if item.path.parent == Path(__file__).parent and getattr(item.function, "is_hypothesis_test", False):
            item.add_marker(pytest.mark.timeout(3600 if THOROUGH else 400))
            if THOROUGH:
                item.add_marker(pytest.mark.thorough)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The server that the properties share."""
    with asyncio.Runner() as runner:
        world = World(runner, tmp_path_factory.mktemp("semantics") / "data")
        world.run(world.start())
        yield world
        world.run(world.stop())


@pytest.fixture
def wire(channel: grpc.aio.Channel) -> Wire:
    """Stubs on a server of the test's own."""
    return Wire(channel)


@pytest.fixture
async def ready(wire: Wire, request: pytest.FixtureRequest) -> Wire:
    """A server with the session that the specimens speak of."""
    method = getattr(request.node, "callspec", None) and request.node.callspec.params.get("method")
    if method and not await wire.serves(path_of(method)):
        pytest.skip(f"{method} is not served yet")
    await wire.create("s")
    await wire.append("s", user("x"), reply("x"), ask("q1"))
    return wire
