"""`transcript tail`: the page, then every row as it lands."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from transcript import Client, connect, new_id
from transcript.v1.event_pb2 import (
    AssistantMessage,
    Event,
    HumanRequest,
    ToolCall,
    ToolResult,
    TurnEnded,
    TurnStarted,
    UserMessage,
)
from transcript.v1.live_pb2 import LiveUpdate
from transcript_server.app import Config, serving

from .command import Command, bare, rows_of


def call(call_id: str, command: str) -> Event:
    return Event(tool_call=ToolCall(call_id=call_id, name="Bash", arguments_json=json.dumps({"command": command})))


async def test_rows_are_drawn_as_they_land_and_ctrl_c_ends_it_well(command: Command, client: Client, walk: str) -> None:
    running = await command.start("tail", walk)
    await running.until("`--idle-seconds` |\n")
    await client.append(walk, [Event(user_message=UserMessage(text="One more.")), call("a", "sleep"), call("b", "ls")])
    await running.until("One more.")
    await client.append(walk, [Event(tool_result=ToolResult(call_id="b", text="1\n2"))])
    await running.until("⏺ Bash  ls  → ok, 2 lines")
    await client.append(walk, [Event(assistant_message=AssistantMessage(text="Done."))])
    await running.until("Done.")
    ran = await running.interrupt()

    assert ran.status == 0
    assert "\x1b" not in ran.stdout + ran.stderr
    assert ran.lines[0] == "Walk of the album service's open reviews"
    assert ran.lines[-1] == "⏺ Bash  sleep  … no result", "what is not settled is drawn at the end"
    assert "Traceback" not in ran.stderr


async def test_json_gives_every_row_once(command: Command, client: Client, walk: str) -> None:
    running = await command.start("tail", walk, "--json", "--view", "journal", "--page-size", "3")
    await running.until('"sequence": "63"')
    await client.add_note(walk, "hello")
    await running.until('"sequence": "64"')
    ran = await running.interrupt()

    assert [json.loads(line)["sequence"] for line in ran.lines] == ["61", "62", "63", "64"]


async def test_a_terminal_shows_what_goes_on_below_what_has_happened(command: Command, client: Client) -> None:
    session = (await client.create_session("busy", "Busy")).id
    terminal = await command.on_terminal("tail", session)
    await terminal.until("Busy")
    reply = new_id()
    await client.append(session, [Event(user_message=UserMessage(text="Go.")), Event(turn_started=TurnStarted())])
    await client.append(session, [call("a", "make")])
    await terminal.until("… running")
    await client.append(session, [Event(human_request=HumanRequest(request_id="q", prompt="Really?"))])
    await terminal.until("? waiting for an answer to #4: ")
    await client.add_note(session, "later")
    await terminal.until("1 row held until the running turn ends")

    async def words() -> None:
        await client.publish_live(session, updates())

    async def updates():
        yield LiveUpdate(event_id=reply, offset=0, text_delta="Writing the \x1b[31mreply")
        await asyncio.sleep(30)

    writing = asyncio.create_task(words())
    await terminal.until("Writing the reply")
    await client.append(
        session,
        [
            Event(tool_result=ToolResult(call_id="a", text="ok")),
            Event(id=reply, assistant_message=AssistantMessage(text="Written.")),
            Event(turn_ended=TurnEnded()),
        ],
    )
    await terminal.until("later")
    writing.cancel()
    terminal.interrupt()
    ran = await terminal.end()

    assert ran.status == 0
    assert "\x1b[31mreply" not in ran.stdout
    settled = rows_of(bare(ran.stdout).splitlines())
    for line in ("⏺ Bash  make  → ok, 1 line", "? question, waiting for an answer", "Written.", "later"):
        assert [row for row in settled if row.startswith(line)], line


async def test_a_broken_connection_is_taken_up_again(tmp_path: Path) -> None:
    """The server goes away and comes back: no row is missed, none comes twice, and it is said once."""
    config = Config(data=tmp_path / "data", grpc="127.0.0.1:0")
    async with serving(config) as server, connect(server.address) as client:
        address = server.address
        await client.create_session("s")
        await client.append("s", [Event(user_message=UserMessage(text="one"))])
        running = await Command(tmp_path, address).start("tail", "s", "--json")
        await running.until('"sequence": "1"')
    async with serving(Config(data=config.data, grpc=address)), connect(address) as client:
        await client.append("s", [Event(user_message=UserMessage(text="two"))])
        await running.until('"sequence": "2"')
        await client.append("s", [Event(user_message=UserMessage(text="three"))])
        await running.until('"sequence": "3"')
        ran = await running.interrupt()

    assert [json.loads(line)["sequence"] for line in ran.lines] == ["1", "2", "3"]
    assert ran.stderr.splitlines() == [
        f"the connection to {address} broke off; trying again",
        "connected again",
    ]


async def test_a_session_that_is_deleted_ends_it_with_a_complaint(command: Command, client: Client, walk: str) -> None:
    running = await command.start("tail", walk)
    await running.until("Agent")
    await client.delete_session(walk)
    async with asyncio.timeout(30):
        _, stderr = await running.process.communicate()

    assert running.process.returncode == 1
    assert "the session was deleted" in stderr.decode()
    assert "(docs/errors.md#session-not-found)" in stderr.decode()
