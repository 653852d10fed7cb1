"""SESSION on the command line: an id, a part of one, a title, @last, @running; and what if it is not one session."""

from __future__ import annotations

import pytest

from transcript import Client
from transcript.v1.event_pb2 import Event, TurnEnded, TurnStarted, UserMessage
from transcript.v1.session_pb2 import SessionKind
from transcript_terminal.complaints import Misuse
from transcript_terminal.resolving import resolve

from .command import Command


async def made(client: Client, session_id: str, title: str = "", **more: object) -> str:
    return (await client.create_session(session_id, title, **more)).id


async def test_a_session_is_named_by_id_or_part_or_title(client: Client) -> None:
    await made(client, "0196-aaaa", "Fix the login")
    await made(client, "0196-bbbb", "aaaa")
    await made(client, "0196", "An id that is part of others")
    await made(client, "scout-1", kind=SessionKind.SESSION_KIND_SUBAGENT)

    assert (await resolve(client, "0196-aaaa")).id == "0196-aaaa"
    assert (await resolve(client, "0196")).id == "0196"
    assert (await resolve(client, "bbb")).id == "0196-bbbb"
    assert (await resolve(client, "Fix the login")).id == "0196-aaaa"
    assert (await resolve(client, "aaaa")).id == "0196-bbbb", "a title that is it exactly goes before a part of an id"
    assert (await resolve(client, "scout")).id == "scout-1"


async def test_several_matches_are_listed(client: Client) -> None:
    for number in range(12):
        await made(client, f"run-{number:02}", "Nightly" if number < 2 else "")

    with pytest.raises(Misuse) as parts:
        await resolve(client, "run-")
    assert parts.value.exit_code == 2
    assert parts.value.message.startswith("12 sessions match 'run-'; name one of them, or more of its id:\n  run-")
    assert parts.value.message.endswith("\n  … and 2 more")
    with pytest.raises(Misuse) as titles:
        await resolve(client, "Nightly")
    assert sorted(titles.value.message.splitlines()[1:]) == ["  run-00  Nightly", "  run-01  Nightly"]


async def test_last_is_the_latest_prompted(client: Client) -> None:
    with pytest.raises(Misuse, match="there is no session yet"):
        await resolve(client, "@last")
    await made(client, "first")
    await made(client, "second")
    await client.append("first", [Event(user_message=UserMessage(text="hello"))])

    assert (await resolve(client, "@last")).id == "first"


async def test_running_is_the_only_one_that_runs(client: Client) -> None:
    await made(client, "first")
    await made(client, "second")
    with pytest.raises(Misuse, match="no session is running"):
        await resolve(client, "@running")
    await client.append("first", [Event(turn_started=TurnStarted())])
    assert (await resolve(client, "@running")).id == "first"
    await client.append("second", [Event(turn_started=TurnStarted())])
    with pytest.raises(Misuse, match="2 sessions are running"):
        await resolve(client, "@running")
    await client.append("first", [Event(turn_ended=TurnEnded())])
    assert (await resolve(client, "@running")).id == "second"


async def test_the_command_ends_with_2_and_lists_them_on_stderr(command: Command, client: Client) -> None:
    await made(client, "run-1", "One")
    await made(client, "run-2", "Two")
    several = await command("show", "run")
    none = await command("show", "walk")

    assert (several.status, several.stdout) == (2, "")
    assert sorted(several.stderr.splitlines()[1:]) == ["  run-1  One", "  run-2  Two"]
    assert (none.status, none.stdout) == (2, "")
    assert none.stderr == (
        "transcript: no session has the id, a part of an id, or the title 'walk'; "
        "list those there are: transcript sessions (docs/errors.md#session-not-found)\n"
    )


async def test_the_shell_is_offered_the_sessions_there_are(command: Command, alone: Command, walk: str) -> None:
    def typed(words: str) -> dict[str, str]:
        return {"_TRANSCRIPT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "2"}

    assert (await command(**typed("transcript show rev"))).stdout == f"plain,{walk}\n"
    assert (await command(**typed("transcript tail @"))).lines == ["plain,@last", "plain,@running"]
    nobody = await alone(**typed("transcript show rev"), TRANSCRIPT_SERVER="127.0.0.1:1")
    assert (nobody.stdout.strip(), nobody.stderr) == ("", "")
