"""`transcript show`, `sessions` and `sections`: what a person reads, in a pipe and on a terminal."""

from __future__ import annotations

import json

import pytest
from google.protobuf.json_format import Parse

from transcript import Client
from transcript.v1.event_pb2 import (
    AssistantMessage,
    Event,
    HumanRequest,
    Note,
    ToolCall,
    ToolResult,
    TurnStarted,
    UserMessage,
)
from transcript.v1.session_pb2 import Session, SessionKind
from transcript.v1.transcript_service_pb2 import Section, View

from .command import Command, bare, rows_of

THOUGHT = (
    "✻ thinking  The flag is called --idle. I need its declaration, the place where it is compared, and what the "
    "documentation says. If the three disagree, that is the review."
)


async def test_a_pipe_gets_the_current_section_and_what_is_left_out_is_counted_on_stderr(
    command: Command, walk: str
) -> None:
    ran = await command("show", walk)

    assert ran.status == 0
    assert ran.lines[:13] == [
        "Walk of the album service's open reviews",
        "  review-walk · 5 turns · 13 messages",
        "",
        "3 earlier sections · 412 retry on 429 · 418 thumbnails in the background · 421 albums by name  [--expand]",
        "",
        "Tue 24 Nov 2026",
        "",
        "──── 425 idle timeout ────",
        "",
        "User  09:12  #48",
        "  And the last one, 425. I never know whether that timeout is in seconds.",
        "",
        THOUGHT,
    ]
    assert "⏺ Grep  --idle  → ok, 1 line" in ran.lines
    assert ran.stderr.splitlines() == [
        "3 earlier sections hidden; --expand shows them",
        "4 tool cards shortened; --whole shows them",
    ]


async def test_a_pipe_gets_no_escape_whatever_the_environment_says(command: Command, walk: str) -> None:
    ran = await command("show", walk, "--all", "--view", "full", FORCE_COLOR="1", CLICOLOR_FORCE="1", COLUMNS="20")

    assert "\x1b" not in ran.stdout + ran.stderr
    assert max(map(len, ran.lines)) > 150


async def test_all_is_the_whole_view_and_expand_reaches_past_the_section(command: Command, walk: str) -> None:
    whole = await command("show", walk, "--all", "--page-size", "3")
    expanded = await command("show", walk, "--expand", "--page-size", "4")

    assert [line for line in whole.lines if line.startswith("────")] == [
        "──── 412 retry on 429 ────",
        "──── 418 thumbnails in the background ────",
        "──── 421 albums by name ────",
        "──── 425 idle timeout ────",
    ]
    assert "30 rows of earlier turns not in the compact view; --view full shows them" in whole.stderr
    assert "not shown" not in whole.stderr
    assert "User  09:09  #35" in expanded.lines
    assert "34 earlier rows  [--all]" in expanded.lines
    assert "34 earlier rows not shown; --all shows them" in expanded.stderr


@pytest.mark.parametrize("view", ["compact", "full", "journal"])
async def test_json_lines_are_the_views_rows(command: Command, walk: str, client: Client, view: str) -> None:
    """Every line reads back as an Event, in order, and all of them are the view."""
    ran = await command("show", walk, "--all", "--json", "--view", view, "--page-size", "7")
    page = await client.read_page(walk, view=View.Value(f"VIEW_{view.upper()}"), page_size=1000, expand_sections=True)

    assert [Parse(line, Event()) for line in ran.lines] == page.events
    assert "shortened" not in ran.stderr


async def test_around_has_the_row_in_the_middle(command: Command, walk: str) -> None:
    ran = await command("show", walk, "--around", "22", "--view", "journal", "--page-size", "6", "--json")

    assert [json.loads(line)["sequence"] for line in ran.lines] == ["19", "20", "21", "22", "23", "24"]
    assert ran.stderr.splitlines() == [
        "18 earlier rows not shown; --all shows them",
        "39 later rows not shown; --all shows them",
    ]


async def test_around_a_row_that_the_view_does_not_have_says_so(command: Command, walk: str) -> None:
    ran = await command("show", walk, "--around", "22", "--page-size", "4")

    assert ran.status == 0
    assert "row 22 is not in this view; --view journal shows it" in ran.stderr


async def test_before_is_the_page_before_a_row(command: Command, walk: str) -> None:
    ran = await command("show", walk, "--before", "17", "--page-size", "2", "--json")

    assert [json.loads(line)["sequence"] for line in ran.lines] == ["11", "15"]


async def test_turn_is_found_and_shown_in_full(command: Command, walk: str, client: Client) -> None:
    for turn in range(6):
        ran = await command("show", walk, "--turn", str(turn), "--json")
        page = await client.read_page(walk, view=View.VIEW_FULL, page_size=1000, expand_sections=True)

        assert [Parse(line, Event()) for line in ran.lines] == [row for row in page.events if row.turn == turn]
    drawn = await command("show", walk, "--turn", "3")
    assert "⏺ Edit  tests/test_thumbnails.py  → ok, 1 line" in drawn.lines
    assert "earlier" not in drawn.stdout + drawn.stderr


async def test_what_is_not_there_is_said_with_what_is(command: Command, walk: str) -> None:
    turn = await command("show", walk, "--turn", "6")
    row = await command("show", walk, "--around", "64")

    assert (turn.status, turn.stdout) == (2, "")
    assert "no turn 6 in review-walk: it has turns 1 to 5" in turn.stderr
    assert (row.status, row.stdout) == (2, "")
    assert "no row 64 in review-walk: its last row is 63" in row.stderr
    assert "(docs/errors.md#sequence-ahead)" in row.stderr


async def test_whole_fetches_what_a_page_leaves_out(command: Command, client: Client) -> None:
    """A row over 64 KiB is cut on a page: its end is there when it is asked for."""
    session = await client.create_session("large")
    text = "x" * 100_000 + " the end"
    await client.append(
        session.id,
        [
            Event(user_message=UserMessage(text="cat it")),
            Event(tool_call=ToolCall(call_id="a", name="Bash", arguments_json='{"command": "cat it"}')),
            Event(tool_result=ToolResult(call_id="a", text=text)),
            Event(assistant_message=AssistantMessage(text=text)),
        ],
    )
    short = await command("show", "large")
    whole = await command("show", "large", "--whole")

    assert "⏺ Bash  cat it  → ok, 97.7 KiB" in short.lines
    assert "the end" not in short.stdout
    assert "left out  [--whole]" in short.stdout
    assert whole.stdout.count("the end") == 2
    assert "left out" not in whole.stdout + whole.stderr


async def test_a_request_that_waits_is_shown_wherever_it_lies(command: Command, client: Client) -> None:
    session = await client.create_session("asking")
    await client.append(
        session.id,
        [
            Event(user_message=UserMessage(text="Ship it.")),
            Event(turn_started=TurnStarted()),
            Event(human_request=HumanRequest(request_id="q", prompt="To production?", options=["yes", "no"])),
            *(Event(assistant_message=AssistantMessage(text=f"waiting {n}")) for n in range(8)),
            Event(tool_call=ToolCall(call_id="a", name="Bash", arguments_json='{"command": "sleep 99"}')),
        ],
    )
    await client.add_note(session.id, "for later")
    ran = await command("show", "asking", "--view", "full", "--page-size", "4")

    assert rows_of(ran.lines)[-4:] == [
        "⏺ Bash  sleep 99  … running",
        ran.lines[-3].strip(),
        "To production?",
        "[ yes | no ]",
    ]
    assert ran.lines[-3].startswith("? question, waiting for an answer")
    assert "1 row held until the running turn ends" in ran.stderr
    assert "a turn is running; transcript tail asking follows it" in ran.stderr


async def test_a_session_without_a_person_opens_in_full(command: Command, client: Client) -> None:
    rows = [
        Event(user_message=UserMessage(text="one")),
        Event(tool_call=ToolCall(call_id="a", name="Bash", arguments_json='{"command": "ls"}')),
        Event(tool_result=ToolResult(call_id="a")),
        Event(assistant_message=AssistantMessage(text="reply")),
        Event(user_message=UserMessage(text="two")),
    ]
    for kind, cards in ((SessionKind.SESSION_KIND_INTERACTIVE, 0), (SessionKind.SESSION_KIND_AUTOMATED, 1)):
        session = await client.create_session(kind=kind)
        await client.append(session.id, rows, as_recorded=True)

        assert (await command("show", session.id)).stdout.count("⏺ Bash") == cards


async def test_nothing_a_session_holds_reaches_a_terminal_unmended(command: Command, client: Client) -> None:
    """The whole way: stored as it was, drawn in a pipe and on a terminal."""
    nasty = "\x1b]0;owned\x07\x1b[2Jtext\x9b31m\u202e"
    session = await client.create_session("nasty", title="title")
    await client.append(
        session.id,
        [
            Event(user_message=UserMessage(text=nasty)),
            Event(tool_call=ToolCall(call_id="a", name=nasty, arguments_json=json.dumps({"command": nasty}))),
            Event(tool_result=ToolResult(call_id="a", text=nasty, is_error=True)),
            Event(note=Note(text=nasty)),
        ],
    )
    piped = await command("show", "nasty")
    shown = await (await command.on_terminal("show", "nasty")).end()

    assert not set("\x1b\x07\x9b\u202e").intersection(piped.stdout)
    assert "owned" not in piped.stdout + shown.stdout
    assert "]0;" not in shown.stdout
    assert "\x1b[2J" not in shown.stdout
    assert not set("\x07\x9b\u202e").intersection(shown.stdout)
    assert "text\\u{202e}" in piped.stdout


async def test_a_terminal_gets_colour_and_no_colour_where_it_is_not_wanted(command: Command, walk: str) -> None:
    coloured = await (await command.on_terminal("show", walk)).end()
    plain = await (await command.on_terminal("show", walk, NO_COLOR="1")).end()

    assert "\x1b[1;36mUser" in coloured.stdout
    assert "\x1b[1mUser" in plain.stdout
    assert not any(f"\x1b[{code}m" in plain.stdout or f";{code}m" in plain.stdout for code in range(30, 48))
    assert bare(coloured.stdout) == bare(plain.stdout)
    assert "─" * 31 + " 425 idle timeout " + "─" * 31 in bare(plain.stdout).splitlines()


async def test_sessions_are_listed_latest_prompted_first(command: Command, client: Client, walk: str) -> None:
    child = await client.create_session("scout", kind=SessionKind.SESSION_KIND_SUBAGENT, parent_session_id=walk)
    other = await client.create_session("nightly", title="Nightly run", labels={"team": "album"})
    await client.append(other.id, [Event(user_message=UserMessage(text="go")), Event(turn_started=TurnStarted())])

    def ids(text: str) -> list[str]:
        return [line.split()[0] for line in text.splitlines()]

    listed = await command("sessions")
    assert ids(listed.stdout) == ["nightly", "review-walk"]
    assert [" ".join(line.split()[2:]) for line in listed.lines] == [
        "1 message running Nightly run",
        "13 messages Walk of the album service's open reviews",
    ]
    assert listed.lines[1].split()[1] == "2026-11-24"
    assert ids((await command("sessions", "--label", "team=album")).stdout) == ["nightly"]
    assert ids((await command("sessions", "--title", "WALK")).stdout) == ["review-walk"]
    assert ids((await command("sessions", "--parent", walk)).stdout) == [child.id]
    assert set(ids((await command("sessions", "--all-kinds")).stdout)) == {"nightly", "review-walk", "scout"}
    first = await command("sessions", "--limit", "1", "--json")
    assert [Parse(line, Session()).id for line in first.lines] == ["nightly"]
    assert first.stderr == "there are more; --limit 0 shows them\n"
    assert (await command("sessions", "--title", "nothing")).stdout == ""


async def test_sections_are_the_table_of_contents(command: Command, walk: str) -> None:
    ran = await command("sections", walk)

    assert ran.lines == [
        "#1   4 messages  412 retry on 429 (by review-walk)",
        "#17  3 messages  418 thumbnails in the background (by review-walk)",
        "#34  3 messages  421 albums by name (by review-walk)",
        "#47  3 messages  425 idle timeout (by review-walk)",
    ]
    as_json = await command("sections", walk, "--json")
    assert [Parse(line, Section()).first_sequence for line in as_json.lines] == [1, 17, 34, 47]
