"""A real server, and the stubs to reach it."""

from __future__ import annotations

import grpc.aio
import pytest
from semantics.wire import Wire


@pytest.fixture
def wire(channel: grpc.aio.Channel) -> Wire:
    """Stubs on a server of the test's own."""
    return Wire(channel)
