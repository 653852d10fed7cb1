"""`transcript context`: what the model is, or was, sent, a line for each row."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from google.protobuf.json_format import Parse
from rich.cells import cell_len
from semantics.rows import begin, checkpoint, marker, replacing, reply, reset, result, summary

from transcript import Client
from transcript.v1.context_service_pb2 import ContextScope
from transcript.v1.event_pb2 import Attachment, Event, SystemMessage, ToolCall, ToolResult, UserMessage
from transcript_terminal.surface_lines import Lines, rows_of
from transcript_terminal.weighing import Weight, weigh

from .command import Command, bare

SCREEN = 80


def called(call_id: str, command: str) -> Event:
    return Event(tool_call=ToolCall(call_id=call_id, name="bash", arguments_json=f'{{"command": "{command}"}}'))


def journal() -> Iterable[Event]:
    """A turn, compacted but for its instructions; then one that runs on, a result in it cut for the model."""
    yield Event(system_message=SystemMessage(text="Be brief."))
    yield Event(user_message=UserMessage(text="Fix the parser"))
    yield called("a", "ls")
    yield result("a", "x" * 2000)
    yield reply("Done.")
    yield summary("c")
    yield checkpoint(2, 5, "c")
    yield marker("the tests")
    yield Event(user_message=UserMessage(text="And the tests?"))
    yield begin()
    yield called("b", "make test")
    yield result("b", "1 passed\n" * 200)
    yield Event(tool_result=ToolResult(call_id="b", text="[cut]"), surface=replacing(12, 12))


@pytest.fixture
async def session(client: Client) -> str:
    """The journal above: 13 rows, of which the model is sent five."""
    await client.create_session("fixing", title="Fix the parser")
    await client.append("fixing", journal(), as_recorded=True)
    return "fixing"


async def test_rows_stand_as_the_model_sees_them_and_say_in_place_of_what(command: Command, session: str) -> None:
    """With a heading before them and what they are together behind them."""
    ran = await command("context", session)

    assert (ran.status, ran.stderr) == (0, "")
    assert ran.lines == [
        "Fix the parser",
        "  fixing · context as of row 13 of 13",
        "",
        "#1   Instructions: Be brief.  9 bytes",
        "#7   In place of #2 to #5: Checkpoint: for the model  13 bytes",
        "#9   User: And the tests?  14 bytes",
        '#11  Tool call bash {"command": "make test"}  24 bytes',
        "#13  In place of #12: Tool result: ok: [cut]  5 bytes",
        "",
        "5 rows, 65 bytes of text, about 16 tokens",
        "  Tools 29 bytes (2) · User 14 bytes (1) · Checkpoint 13 bytes (1) · Instructions 9 bytes (1)",
    ]


async def test_rule_24_at_is_the_context_once_that_row_had_landed(command: Command, session: str) -> None:
    """As it was sent then, whatever took its place since."""
    ran = await command("context", session, "--at", "6")

    assert ran.lines[1] == "  fixing · context as of row 6 of 13"
    assert [line.split()[0] for line in ran.lines[3:8]] == ["#1", "#2", "#3", "#4", "#5"]
    assert ran.lines[6].startswith("#4  Tool bash: ok: xxxx")
    assert ran.lines[6].endswith("xx …  2.0 KiB")
    assert ran.lines[9] == "5 rows, 2.0 KiB of text, about 511 tokens"


async def test_rules_24_and_25_less_is_sent_where_less_is_asked_for(command: Command, session: str) -> None:
    """The conversation alone, without the prompt that its caller sends anew."""
    ran = await command("context", session, "--conversation", "--exclude-running-prompt")

    assert ran.lines[1:4] == [
        "  fixing · context as of row 13 of 13 · the conversation alone · without the running prompt",
        "",
        "#7  In place of #2 to #5: Checkpoint: for the model  13 bytes",
    ]
    assert ran.lines[5] == "1 row, 13 bytes of text, about 3 tokens"


async def test_whole_is_every_text_to_its_end(command: Command, session: str) -> None:
    ran = await command("context", session, "--at", "6", "--whole")

    assert "#2  User" in ran.stdout
    assert ran.lines[ran.lines.index("  " + "x" * 2000) - 1] == "#4  ⏺ bash  → ok, 1 line  2.0 KiB"


async def test_json_lines_are_the_surfaces_rows(command: Command, session: str, client: Client) -> None:
    """Every line reads back as an Event, to the byte, in the surface's order, and nothing else is written."""
    for arguments, asked in (
        ((), {}),
        (("--at", "5"), {"as_of_sequence": 5}),
        (("--conversation",), {"scope": ContextScope.CONTEXT_SCOPE_CONVERSATION}),
        (("--exclude-running-prompt",), {"exclude_running_prompt": True}),
    ):
        ran = await command("context", session, "--json", *arguments)
        sent = await client.read_context(session, **asked)

        assert sent.events
        assert [Parse(line, Event()) for line in ran.lines] == sent.events


async def test_an_empty_context_says_so(command: Command, session: str, client: Client) -> None:
    """Whether nothing was said yet or it was all taken off."""
    await client.create_session("new")
    await client.append(session, [reset()], as_recorded=True)

    assert (await command("context", "new")).lines == [
        "new",
        "  context as of row 0 of 0",
        "",
        "The context is empty.",
    ]
    assert (await command("context", session)).lines[-1] == "The context is empty."
    assert (await command("context", session, "--json")).stdout == ""


async def test_a_row_that_is_not_there_yet_is_said(command: Command, session: str) -> None:
    ran = await command("context", session, "--at", "14")

    assert (ran.status, ran.stdout) == (2, "")
    assert "its last row is 13; name a row that exists" in ran.stderr
    assert "(docs/errors.md#sequence-ahead)" in ran.stderr
    assert (await command("context", session, "--at", "0")).status == 2


async def test_on_a_terminal_lines_are_cut_and_amounts_stand_at_the_right(command: Command, client: Client) -> None:
    """Whatever script a text is in; a character too wide for the last cell leaves it empty."""
    await client.create_session("wide")
    await client.append(
        "wide",
        [
            Event(user_message=UserMessage(text="short")),
            Event(assistant_message={"text": "long " * 400}),
            Event(user_message=UserMessage(text="長い" * 300)),
            Event(assistant_message={"text": "\u202e hidden \x1b[31m" * 40}),
        ],
    )
    ran = await (await command.on_terminal("context", "wide", width=SCREEN)).end()
    lines = bare(ran.stdout).splitlines()

    assert ran.status == 0
    assert lines[3:7] == [
        "#1  User: short" + " " * 58 + "5 bytes",
        "#2  Agent: " + "long " * 11 + "l…" + "     2.0 KiB",
        "#3  User: " + "長い" * 14 + "…" + "      1.8 KiB",
        "#4  Agent: " + "\\u{202e} hidden " * 3 + "\\u{202e}…   640 bytes",
    ]
    assert {cell_len(line) for line in lines[3:7]} == {SCREEN}
    assert "\x1b[1;36mUser" in ran.stdout


async def test_a_pipe_gets_the_same_whatever_the_environment_says(command: Command, session: str) -> None:
    """No escape, and no line cut to a width."""
    narrow = await command("context", session, "--at", "6", COLUMNS="20", FORCE_COLOR="1")

    assert narrow == await command("context", session, "--at", "6")
    assert "\x1b" not in narrow.stdout
    assert len(narrow.lines[6]) > 160


def test_a_rows_weight_is_its_text_and_apart_what_it_carries() -> None:
    """In bytes of UTF-8; names and ids are not counted, nor are the bytes of files as text."""
    image = Attachment(media_type="image/png", name="a.png", data=b"x" * 100)
    elsewhere = Attachment(uri="https://example.com/a.png")

    assert weigh(Event(user_message=UserMessage(text="für", attachments=[image, elsewhere]))) == Weight(4, 2, 100)
    assert weigh(called("an id", "ls")) == Weight(len('{"command": "ls"}'))
    assert weigh(checkpoint(1, 2)) == Weight(len("for the model"))
    assert weigh(Event(fallback="a new kind")) == Weight(len("a new kind"))
    assert str(Weight(4, 2, 100)) == "4 bytes + 100 bytes attached"
    assert str(Weight(2048, 1)) == "2.0 KiB"
    assert Weight(4 * 12_345).tokens == 12_300
    assert Weight(7).tokens == 1


async def test_attachments_are_said_apart(command: Command, client: Client) -> None:
    """They count as no tokens."""
    image = Attachment(media_type="image/png", name="a.png", data=b"x" * 3000)
    await client.create_session("seeing")
    await client.append("seeing", [Event(user_message=UserMessage(text="See?", attachments=[image, image]))])
    ran = await command("context", "seeing")

    assert ran.lines[3] == "#1  User: See? [image/png a.png] [image/png a.png]  4 bytes + 5.9 KiB attached"
    assert ran.lines[5] == "1 row, 4 bytes of text, about 1 token; 2 attachments, 5.9 KiB"


def test_no_terminal_is_too_narrow() -> None:
    """Of a headline something is left; who draws the line breaks it."""
    rows = rows_of([Event(sequence=n, user_message=UserMessage(text="word " * 20)) for n in (1, 2, 3)])
    for width in range(1, 60):
        lines = Lines(rows, width)
        for passage in (lines.row(rows[0]), lines.folded(rows), lines.stay(rows)):
            assert len("".join(span.text for span in passage.head)) >= min(width, 8)
