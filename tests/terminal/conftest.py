"""The command, against a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from transcript import Client
from transcript_server.app import Serving
from transcript_terminal.demo import samples
from transcript_terminal.demo.samples import WALK_ID, WALK_TITLE

from .command import Command


@pytest.fixture
def command(server: Serving, tmp_path: Path) -> Command:
    """The command, told of the test's server."""
    return Command(tmp_path, server.address)


@pytest.fixture
def alone(tmp_path: Path) -> Command:
    """The command without a server."""
    return Command(tmp_path)


@pytest.fixture
async def walk(client: Client) -> str:
    """The demo's review walk: 63 rows, 5 turns, 4 sections of which 3 are hidden."""
    await client.create_session(WALK_ID, WALK_TITLE)
    await client.append(WALK_ID, samples.walk(), as_recorded=True)
    return WALK_ID
