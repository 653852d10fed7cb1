"""`transcript mark`, `note`, `fork` and `delete`."""

from __future__ import annotations

from google.protobuf.json_format import Parse

from transcript import Client
from transcript.v1.event_pb2 import Event, TurnEnded, TurnStarted
from transcript.v1.journal_service_pb2 import AddNoteResponse, AddSectionMarkerResponse
from transcript.v1.session_pb2 import Session
from transcript.v1.transcript_service_pb2 import View

from .command import Command


async def rows(client: Client, session_id: str) -> list[Event]:
    return (await client.read_page(session_id, view=View.VIEW_JOURNAL, page_size=1000)).events


async def test_mark_begins_a_section(command: Command, client: Client, walk: str) -> None:
    first = await command("mark", walk, "next-item", "--source", "me")
    plain = await command("mark", walk, "--no-collapse", "--json")

    assert (first.status, first.stdout) == (0, "the section begins at row 64\n")
    assert Parse(plain.stdout, AddSectionMarkerResponse()).sequence == 65
    marked, unnamed = (row.section_marker for row in (await rows(client, walk))[-2:])
    assert (marked.label, marked.source, marked.collapse_earlier) == ("next-item", "me", True)
    assert (unnamed.label, unnamed.source, unnamed.collapse_earlier) == ("", "", False)


async def test_note_is_added_from_the_command_line_or_from_stdin(command: Command, client: Client, walk: str) -> None:
    first = await command("note", walk, "Ship it **after** lunch.")
    second = await command("note", walk, "-", "--source", "script", "--json", stdin="two\nlines\n")

    assert (first.status, first.stdout) == (0, "the note stands at row 64\n")
    assert Parse(second.stdout, AddNoteResponse()).sequence == 65
    assert [row.note.text for row in (await rows(client, walk))[-2:]] == ["Ship it **after** lunch.", "two\nlines\n"]
    assert (await rows(client, walk))[-1].note.source == "script"


async def test_while_a_turn_runs_both_are_held_and_it_is_said(command: Command, client: Client, walk: str) -> None:
    await client.append(walk, [Event(turn_started=TurnStarted())])

    assert (await command("mark", walk, "next")).stdout == "a turn is running: held until it ends\n"
    assert (await command("note", "@running", "hello")).stdout == "a turn is running: held until it ends\n"
    await client.append(walk, [Event(turn_ended=TurnEnded())])
    assert [row.WhichOneof("payload") for row in (await rows(client, walk))[-2:]] == ["section_marker", "note"]


async def test_what_the_server_refuses_is_said_with_its_entry(command: Command, walk: str) -> None:
    ran = await command("mark", walk, "x" * 121)

    assert (ran.status, ran.stdout) == (1, "")
    assert ran.stderr.startswith("transcript: label: ")
    assert ran.stderr.endswith("(docs/errors.md#invalid-field)\n")
    assert len(ran.stderr.splitlines()) == 1


async def test_fork_prints_the_copys_id(command: Command, client: Client, walk: str) -> None:
    named = await command("fork", walk, "--through", "33", "--id", "copy", "--title", "A copy")
    again = await command("fork", walk, "--json")

    assert (named.status, named.stdout) == (0, "copy\n")
    copy = await client.get_session("copy")
    assert (copy.title, copy.forked_from_session_id, copy.forked_from_sequence) == ("A copy", walk, 33)
    assert Parse(again.stdout, Session()).forked_from_sequence == 63
    ahead = await command("fork", walk, "--through", "64")
    assert ahead.status == 1
    assert "(docs/errors.md#sequence-ahead)" in ahead.stderr


async def test_delete_needs_a_yes(command: Command, client: Client, walk: str) -> None:
    """Without a terminal the flag; on one, an answer."""
    asked = await command("delete", walk)
    assert asked.status == 2
    assert "--yes" in asked.stderr
    terminal = await command.on_terminal("delete", walk)
    await terminal.until("Remove review-walk")
    terminal.type("n\n")
    assert (await terminal.end()).status == 1
    assert (await client.get_session(walk)).latest_sequence == 63

    terminal = await command.on_terminal("delete", walk)
    await terminal.until("63 rows, 13 messages, for good? [y/N]")
    terminal.type("y\n")
    done = await terminal.end()
    assert done.status == 0
    assert done.stdout.endswith("removed review-walk\n")
    assert (await command("show", walk)).status == 2


async def test_delete_with_json_prints_what_was_removed(command: Command, walk: str) -> None:
    ran = await command("delete", walk, "--yes", "--json")
    session = Parse(ran.stdout, Session())

    assert (ran.status, session.id, session.deleted) == (0, walk, True)
