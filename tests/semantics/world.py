"""What the properties share: a server with a loop of its own, and how often each is tried."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Coroutine
from typing import Any

from hypothesis import HealthCheck, settings

from .wire import Wire

THOROUGH = os.environ.get("TRANSCRIPT_THOROUGH") == "1"
FACTOR = 20 if THOROUGH else 1


class World:
    """A server, and a loop on which to talk to it."""

    def __init__(self, runner: asyncio.Runner, wire: Wire) -> None:
        self.runner = runner
        self.wire = wire
        self.numbers = itertools.count(1)

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Runs it to its end."""
        return self.runner.run(coroutine)

    def new_id(self) -> str:
        """A session id that nobody used."""
        return f"session-{next(self.numbers)}"


def examples(count: int) -> settings:
    """How often a property is tried: more often by TRANSCRIPT_THOROUGH=1."""
    return settings(
        max_examples=count * FACTOR,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        print_blob=True,
    )
