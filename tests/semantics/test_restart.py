"""A history that is cut by restarts is the same history (rules 1, 3, 8 and 9)."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import grpc.aio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcript_server.app import Config, serving

from . import views
from .histories import histories
from .play import Player
from .wire import OPTIONS, Wire, bytes_of
from .world import examples


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory):
    """A folder for each example."""
    parent = tmp_path_factory.mktemp("restarts")
    return (parent / f"{number}" for number in itertools.count())


@examples(6)
@given(parts=st.lists(histories(most=6), min_size=2, max_size=5))
def test_rule_9_any_history_goes_on_after_restarts(folders, parts):
    """Held rows, ids, turns, requests and pages are what they would be without; rows keep their bytes."""

    async def play(folder: Path) -> None:
        config = Config(data=folder, grpc="127.0.0.1:0")
        player = None
        for steps in parts:
            async with (
                serving(config) as running,
                grpc.aio.insecure_channel(running.address, options=OPTIONS) as channel,
            ):
                wire = Wire(channel)
                if player is None:
                    await wire.create("s")
                    player = Player(wire, "s")
                else:
                    player.wire = wire
                    assert bytes_of(await wire.rows("s")) == bytes_of(player.model.events())
                    await player.check_session()
                await player.play(steps)
                await player.check_rows()
                await player.check_session()
                for view in views.VIEWS:
                    page = await wire.page("s", view=view)
                    assert bytes_of(page.rows) == bytes_of(views.read_page(player.model.events(), view).rows)

    asyncio.run(play(next(folders)))
