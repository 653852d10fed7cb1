"""Exported journals brought to a server: the same rows at the same sequences, whatever they are."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from google.protobuf.json_format import MessageToJson
from hypothesis import given
from hypothesis import strategies as st
from semantics import surface
from semantics.histories import Step, histories
from semantics.play import Player
from semantics.rows import begin, call, end, marker, note, replacing, reply, result, status, user
from semantics.wire import OPTIONS, Wire
from semantics.world import THOROUGH, examples

from transcript import BadSurfaceRange, Client, connect
from transcript.v1.event_pb2 import Event
from transcript.v1.session_pb2 import SessionKind
from transcript_importers import FileReport, import_jsonl
from transcript_importers.jsonl.batches import Batches
from transcript_importers.jsonl.importing import FileImport
from transcript_server.app import Config, serving
from transcript_terminal.exporting.json_lines import json_lines

Exported = list[str]
patient = pytest.mark.timeout(3600 if THOROUGH else 400)


class World:
    """A server with a loop of its own, which all examples of the properties share."""

    def __init__(self, runner: asyncio.Runner, wire: Wire, client: Client, folder: Path) -> None:
        self.runner = runner
        self.wire = wire
        self.client = client
        self.folder = folder
        self.numbers = itertools.count(1)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        self.runner.run(work)

    def new(self, kind: str) -> str:
        return f"{kind}-{next(self.numbers)}"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("jsonl")
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()

        async def start() -> World:
            running = await stack.enter_async_context(serving(Config(data=folder / "data", grpc="127.0.0.1:0")))
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(running.address, options=OPTIONS))
            client = await stack.enter_async_context(connect(running.address))
            return World(runner, Wire(channel), client, folder)

        yield runner.run(start())
        runner.run(stack.aclose())


async def exported(client: Client, session_id: str, at: int | None = None) -> Exported:
    """The lines of a session's export."""
    session = await client.get_session(session_id)
    return [line async for line in json_lines(client, session, session.latest_sequence if at is None else at)]


async def brought(client: Client, path: Path, session_id: str = "", **batches: int) -> FileReport:
    """The report of one file's import, cut into appends of few rows if so asked."""
    return await FileImport(client, path, session_id, batches=Batches(**batches)).run()


async def rows_of(client: Client, session_id: str) -> list[Event]:
    """A session's rows without the one thing that is the importing server's own."""
    rows = [event async for event in client.read_events(session_id)]
    for row in rows:
        assert row.HasField("recorded_at")
        row.ClearField("recorded_at")
    return rows


def timeless(lines: Sequence[str]) -> list[Any]:
    """An export's rows without when they were recorded."""
    rows = [json.loads(line) for line in lines[1:]]
    for row in rows:
        del row["recordedAt"]
    return rows


async def check_round_trip(world: World, session_id: str, rows: int) -> None:
    """The law: what was exported and imported is the same, exports as the same, and is not imported twice."""
    client, copy = world.client, world.new("copy")
    path = world.folder / f"{copy}.jsonl"
    lines = await exported(client, session_id)
    path.write_text("".join(lines))
    first = await brought(client, path, copy, rows=rows)
    assert first.error == ""
    assert first.added == first.rows == len(lines) - 1
    assert await rows_of(client, copy) == await rows_of(client, session_id)
    assert timeless(await exported(client, copy)) == timeless(lines)
    again = await brought(client, path, copy)
    assert (again.error, again.added, again.rows) == ("", 0, first.rows)
    source = await brought(client, path, session_id)
    assert (source.error, source.added) == ("", 0)


@patient
@examples(40)
@given(steps=histories(most=20), rows=st.integers(1, 6))
def test_any_history_comes_back_as_it_was(world: World, steps: list[Step], rows: int) -> None:
    """However its rows are cut into appends: compactions, prunes, rewinds, holds, interrupted turns, requests."""

    async def play() -> None:
        player = Player(world.wire, (await world.wire.create(world.new("source"))).id)
        await player.play(steps)
        await check_round_trip(world, player.session_id, rows)

    world.run(play())


@patient
@examples(15)
@given(steps=st.lists(histories(most=3), min_size=1, max_size=5), rows=st.integers(1, 6), data=st.data())
def test_any_fork_comes_back_as_it_was(world: World, steps: list[list[Step]], rows: int, data: st.DataObject) -> None:
    """As of the end of any append; with the rows that the server wrote into it."""

    async def play() -> None:
        player = Player(world.wire, (await world.wire.create(world.new("source"))).id)
        ends = []
        for part in steps:
            for step in part:
                await player.play([step])
                ends += [player.model.tip] * bool(player.model.tip)
        if ends:
            through = data.draw(st.sampled_from(ends))
            fork = await world.client.fork_session(player.session_id, through_sequence=through, id=world.new("fork"))
            await check_round_trip(world, fork.id, rows)

    world.run(play())


Act = tuple[str, int, int]
acts = st.tuples(
    st.sampled_from(["pair", "pair", "halves", "halves", "shorter", "rewind", "reply"]),
    st.integers(0, 9),
    st.integers(0, 3),
)


def pruned(act: Act, standing: list[Event], number: int) -> list[Event]:
    """The rows of one append: a call with its result, the two replaced one by one with rows between, a rewind …"""
    kind, pick, many = act
    calls = [row for row in standing if row.HasField("tool_call")]
    if kind == "pair" or not calls:
        return [call(f"c{number}"), result(f"c{number}")]
    if kind == "reply":
        return [reply()]
    if kind == "rewind":
        return [Event(rewind={"after_sequence": standing[pick % len(standing)].sequence})]
    chosen = calls[pick % len(calls)]
    call_id, first = chosen.tool_call.call_id, replacing(chosen.sequence, chosen.sequence)
    results = [row.sequence for row in standing if row.tool_result.call_id == call_id]
    second = [replacing(at, at) for at in results]
    if kind == "shorter":
        return [result(call_id, "…", surface=at) for at in second] or [reply()]
    made = call(call_id, surface=first) if pick % 2 else note(surface=first)
    return [made, *[reply()] * many, *[note(surface=at) for at in second], *[reply()] * (many % 2)]


@patient
@examples(60)
@given(appends=st.lists(acts, min_size=2, max_size=14), rows=st.integers(1, 8))
def test_rule_26_any_pruning_comes_back_as_it_was(world: World, appends: list[Act], rows: int) -> None:
    """Rows that were appended together are sent together where they must be, and no further rows with them."""

    async def play() -> None:
        session_id = world.new("source")
        await world.client.create_session(session_id)
        for number, act in enumerate(appends):
            standing = surface.fold(await rows_of(world.client, session_id))
            with suppress(BadSurfaceRange):
                await world.client.append(session_id, pruned(act, standing, number))
        await check_round_trip(world, session_id, rows)

    world.run(play())


def write(path: Path, *rows: Event, header: dict[str, Any] | None = None) -> Path:
    """A file by hand."""
    lines = [json.dumps({"session": header})] * (header is not None)
    path.write_text("".join(f"{line}\n" for line in [*lines, *map(as_line, rows)]))
    return path


def as_line(row: Event) -> str:
    return MessageToJson(row, indent=None)


async def test_the_session_comes_with_what_its_maker_said_of_it(client: Client, tmp_path: Path) -> None:
    """Id, title, labels, kind and parent; one that exists keeps its own title."""
    made = await client.create_session(
        "s", "A title", {"team": "album"}, SessionKind.SESSION_KIND_AUTOMATED, parent_session_id="p"
    )
    await client.append("s", [user(), reply()])
    path = tmp_path / "any.jsonl"
    path.write_text("".join(await exported(client, "s")))
    await client.delete_session("s")
    assert (await brought(client, path)).session_id == "s"
    again = await client.get_session("s")
    for name in ("id", "title", "labels", "kind", "parent_session_id"):
        assert getattr(again, name) == getattr(made, name)
    assert again.latest_sequence == 2
    await client.create_session("other", "Another title")
    assert (await brought(client, path, "other")).added == 2
    assert (await client.get_session("other")).title == "Another title"


async def test_a_file_without_a_header_is_named_by_its_caller_or_its_name(client: Client, tmp_path: Path) -> None:
    """Rows that somebody wrote by hand, without ids, are the same rows when they come again."""
    path = write(tmp_path / "by-hand.jsonl", user(), call(), result(), marker("next", source="Ame\u0301lie"), reply())
    first, again = await brought(client, path), await brought(client, path)
    assert (first.error, first.session_id, first.added) == ("", "by-hand", 5)
    assert (again.error, again.added) == ("", 0)
    assert (await brought(client, path, "named")).session_id == "named"
    odd = write(tmp_path / "no id.jsonl", user())
    refused = await brought(client, odd)
    assert "no session's id" in refused.error
    assert "--session ID" in refused.error


async def test_an_import_that_broke_off_goes_on(client: Client, tmp_path: Path) -> None:
    """And a session that has more rows than the file is left as it is."""
    await client.create_session("s")
    await client.append("s", [user(), reply(), begin(), call(), result(), end(), status()])
    lines = await exported(client, "s")
    part, whole = tmp_path / "part.jsonl", tmp_path / "whole.jsonl"
    part.write_text("".join(lines[:5]))
    whole.write_text("".join(lines))
    assert (await brought(client, part, "t")).added == 4
    assert (await brought(client, whole, "t")).added == 3
    assert await rows_of(client, "t") == await rows_of(client, "s")
    report = await brought(client, part, "t")
    assert (report.error, report.added, report.rows) == ("", 0, 4)


async def test_a_session_that_went_on_in_another_way_is_left_alone(client: Client, tmp_path: Path) -> None:
    await client.create_session("s")
    await client.append("s", [user(), reply("one")])
    path = tmp_path / "s.jsonl"
    path.write_text("".join(await exported(client, "s")))
    await client.create_session("t")
    await client.append("t", [user(), reply("two")])
    report = await brought(client, path, "t")
    assert report.error.startswith("line 2 differs from row 1 of the session t, which went on in another way; import")
    assert report.added == 0
    assert (await client.get_session("t")).latest_sequence == 2


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"id": "x", "userMess', "line 3 is no JSON ("),
        ("[1]", "line 3 is no JSON object; mend it"),
        ('{"id": "x"}', "line 3 is no row: it says of no kind what happened; mend it"),
        ('{"laterKind": {}}', "line 3 is no row ("),
        ('{"status": {"text": 1}}', "line 3 is no row ("),
        ('{"sequence": "7", "status": {}}', "line 3 has row 7 where row 2 is expected; a file holds all rows"),
        ("[" * 100_000, "line 3 is no JSON"),
        ('{"session": {"id": "s"}}', "line 3 is no row ("),
        ('{"turnEnded": {"outcome": 99}}', "rows 1 to 3: INVALID_FIELD: events[1].turn_ended.outcome"),
    ],
)
async def test_a_line_that_cannot_be_taken_is_told_with_its_number(
    client: Client, tmp_path: Path, line: str, told: str
) -> None:
    """Nothing of what follows it is brought in; once it is mended the import goes on."""
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(['{"session": {"id": "s"}}', as_line(user(id="a")), line, as_line(reply(id="b"))]))
    report = await brought(client, path)
    assert report.error.startswith(told)
    assert (await client.get_session("s")).latest_sequence == report.added <= 1
    path.write_text("\n".join(['{"session": {"id": "s"}}', as_line(user(id="a")), as_line(reply(id="b"))]))
    report = await brought(client, path)
    assert (report.error, report.rows) == ("", 2)


async def test_a_file_that_is_none_does_not_keep_the_others_back(client: Client, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    fine = write(tmp_path / "fine.jsonl", user())
    reports = [report async for report in import_jsonl(client, [empty, folder, fine])]
    assert [bool(report.error) for report in reports] == [True, True, False]
    assert "the file is empty" in reports[0].error
    assert reports[1].error.startswith("cannot be read: ")


async def test_many_rows_and_large_ones_are_more_than_one_append(client: Client, tmp_path: Path) -> None:
    """Over 1000 rows, over 8 MiB, and rows of nearly as much each."""
    await client.create_session("s")
    for _ in range(3):
        await client.append("s", [status(f"{n}") for n in range(900)])
    for size in (7 << 20, 3 << 20, 3 << 20, 3 << 20, 8_000_000):
        await client.append("s", [reply("\u00e9" * (size // 2))])
    path = tmp_path / "s.jsonl"
    path.write_text("".join(await exported(client, "s")))
    report = await brought(client, path, "t")
    assert (report.error, report.added) == ("", 2705)
    assert await rows_of(client, "t") == await rows_of(client, "s")


async def test_rule_8_a_turn_that_may_hardly_lie_idle_comes_back_whole(client: Client, tmp_path: Path) -> None:
    """No append ends in it. One that had to is ended by the server, and that is told."""
    await client.create_session("s")
    await client.append("s", [user(), begin(1e-6), *[reply()] * 5, end(), user(), begin(1e-6), reply(), end()])
    path = tmp_path / "s.jsonl"
    path.write_text("".join(await exported(client, "s")))
    assert (await brought(client, path, "t", rows=8)).error == ""
    assert await rows_of(client, "t") == await rows_of(client, "s")
    report = await brought(client, path, "u", rows=1)
    assert "a turn was ended as idle before row 3" in report.error
    assert "--session ID" in report.error


async def test_rule_26_a_file_that_ends_within_an_append_is_told_from_which_row_on(
    client: Client, tmp_path: Path
) -> None:
    """A fork may end there too: no call brings half of a replaced pair into a journal by itself."""
    await client.create_session("s")
    await client.append("s", [user(), call(), result(), reply()])
    await client.append("s", [note(surface=replacing(2, 2)), note(surface=replacing(3, 3)), reply()])
    path = tmp_path / "s.jsonl"
    for at, fine in ((4, True), (5, False), (6, True)):
        path.write_text("".join(await exported(client, "s", at)))
        report = await brought(client, path, f"t{at}")
        assert (report.error == "") == fine
        assert report.added == min(at, at if fine else 4)
    assert report.error == ""
    await client.fork_session("s", through_sequence=5, id="fork")
    path.write_text("".join(await exported(client, "fork")))
    assert (await brought(client, path, "u")).error.startswith("rows 5 to 6 take the places of a tool call")
