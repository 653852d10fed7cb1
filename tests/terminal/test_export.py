"""`transcript export`: a session as a document, a page, or lines, now and as it was."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path

import pytest
from google.protobuf.json_format import Parse, ParseDict

from transcript import Client
from transcript.v1.event_pb2 import (
    AssistantMessage,
    Attachment,
    CompactionCheckpoint,
    CompactionSummary,
    Event,
    HumanRequest,
    ReplaceOp,
    SectionMarker,
    Surface,
    Thinking,
    ToolCall,
    ToolResult,
    TurnStarted,
    UserMessage,
)
from transcript.v1.session_pb2 import Session
from transcript.v1.transcript_service_pb2 import View

from .command import EXECUTABLE, Command, bare
from .rows import expected
from .test_missing_extras import run_without

PNG = b"\x89PNG\r\n\x1a\n" + bytes(200)
COMPACTED = Event(
    compaction_checkpoint=CompactionCheckpoint(compaction_id="k", text="for the model alone"),
    surface=Surface(replace=ReplaceOp(start_sequence=1, end_sequence=1)),
)


async def test_markdown_reads_as_a_document(command: Command, walk: str) -> None:
    """Sections and prompts are its headings; what was said is quoted, what tools were asked and gave is fenced."""
    ran = await command("export", walk)

    assert (ran.status, ran.stderr) == (0, "")
    assert ran.stdout.startswith(
        expected(
            """
            # Walk of the album service's open reviews

            review-walk · 5 turns · 13 messages · 63 rows · times in UTC

            ## 412 retry on 429

            *Tue 24 Nov 2026*

            ### User · 09:02 · #2

            > Let's walk the open reviews of the album service, oldest first, one at a time. Start with 412.

            **Thinking** · #4

            > The branch is retry-on-429.
            """
        )
    )
    assert ran.lines[ran.lines.index("**Tool: Bash** · #5") :][:9] == [
        "**Tool: Bash** · #5",
        "",
        "```",
        "command: git log --oneline main..origin/retry-on-429",
        "description: Commits of the branch",
        "```",
        "",
        "→ ok, 3 lines",
        "",
    ]
    assert len([line for line in ran.lines if line.startswith("### User · ")]) == 5
    assert [line for line in ran.lines if line.startswith("## ")] == [
        "## 412 retry on 429",
        "## 418 thumbnails in the background",
        "## 421 albums by name",
        "## 425 idle timeout",
    ]


async def test_the_page_has_a_table_of_contents_and_every_row_its_anchor(command: Command, walk: str) -> None:
    ran = await command("export", walk, "--format", "html")
    contents = re.findall(r'<li><a href="#(\d+)" dir="auto">([^<]*)</a>', ran.stdout)

    assert (ran.status, ran.stderr) == (0, "")
    assert contents == [
        ("1", "412 retry on 429"),
        ("17", "418 thumbnails in the background"),
        ("34", "421 albums by name"),
        ("47", "425 idle timeout"),
    ]
    shown = [
        json.loads(line)["sequence"]
        for line in (await command("show", walk, "--all", "--view", "full", "--json")).lines
    ]
    assert sorted(re.findall(r'id="(\d+)"', ran.stdout), key=int)[-1] in shown[-2:]
    assert set(re.findall(r'id="(\d+)"', ran.stdout)) >= set(shown[:-1])
    assert '<time datetime="2026-11-24T09:02:14+0000" title="Tue 24 Nov 2026, 09:02:14 UTC">09:02</time>' in ran.stdout


@pytest.mark.parametrize("form", ["md", "html"])
async def test_as_of_a_row_it_is_what_it_was_then(command: Command, client: Client, form: str) -> None:
    """Open requests, running turns and calls without a result included."""
    rows = [
        Event(user_message=UserMessage(text="Ship it.")),
        Event(turn_started=TurnStarted()),
        Event(tool_call=ToolCall(call_id="a", name="Bash", arguments_json='{"command": "make"}')),
        Event(human_request=HumanRequest(request_id="q", prompt="To production?", options=["yes", "no"])),
        Event(tool_result=ToolResult(call_id="a", text="made")),
        Event(section_marker=SectionMarker(label="next")),
        Event(human_response={"request_id": "q", "outcome": 1, "answer": "yes"}),
        Event(turn_ended={"outcome": 2}),
        Event(user_message=UserMessage(text="And on.")),
    ]
    session = await client.create_session("s", title="Shipping")
    then: dict[int, str] = {}
    for at, row in enumerate(rows, 1):
        await client.append(session.id, [row], as_recorded=True)
        if at in {3, 4, 7}:
            then[at] = (await command("export", "s", "--format", form)).stdout
    for at, whole in then.items():
        as_of = (await command("export", "s", "--format", form, "--at", str(at))).stdout
        facts = r"(s( · |</span><span>)).*?(?=( · |</span><span>)times in)"
        assert re.sub(facts, "", as_of, count=1) == re.sub(facts, "", whole, count=1)
    assert "waiting for an answer" in then[4]
    assert "waiting for an answer" not in then[7]
    assert "running" in then[3]


async def test_a_row_beyond_the_tip_is_a_misuse(command: Command, walk: str, tmp_path: Path) -> None:
    for form in ("md", "html", "jsonl"):
        ran = await command("export", walk, "--at", "64", "--format", form, "--output", str(tmp_path / "out"))

        assert (ran.status, ran.stdout) == (2, "")
        assert "no row 64 in review-walk: its last row is 63" in ran.stderr
        assert not (tmp_path / "out").exists()


async def test_a_checkpoint_unfolds_to_its_summary(command: Command, client: Client) -> None:
    """The summary stands at the checkpoint, wherever it was written; the checkpoint's own text stands nowhere."""
    await client.create_session("s")
    beside = [
        Event(user_message=UserMessage(text="one")),
        Event(compaction_summary=CompactionSummary(compaction_id="k", text="So far: **one**.")),
        COMPACTED,
    ]
    await client.append("s", beside)
    again = Event()
    again.CopyFrom(COMPACTED)
    again.surface.replace.start_sequence = again.surface.replace.end_sequence = 3
    await client.append("s", [Event(assistant_message=AssistantMessage(text="between")), again])
    html = (await command("export", "s", "--format", "html")).stdout
    markdown = (await command("export", "s")).stdout

    assert html.count("So far: <strong>one</strong>.") == 2
    assert re.search(r'<details class="checkpoint" id="3">\s*<summary><span>earlier context was compacted', html)
    assert html.index('id="2"') < html.index('id="3"')
    assert (
        markdown.count("*earlier context was compacted (summary: #2)*\n\n**Summary** · #2\n\n> So far: **one**.") == 2
    )
    assert "for the model" not in html + markdown


async def test_what_lies_before_the_first_marker_is_a_section_too(command: Command, client: Client) -> None:
    await client.create_session("s")
    rows = [Event(user_message=UserMessage(text="one")), Event(section_marker=SectionMarker())]
    await client.append("s", [*rows, Event(user_message=UserMessage(text="two"))])
    markdown = await command("export", "s")
    html = await command("export", "s", "--format", "html")
    earlier = await command("export", "s", "--at", "1")

    assert [line for line in markdown.lines if line.startswith("## ")] == ["## Opening", "## Unnamed section"]
    assert '<a href="#opening" dir="auto">Opening</a>' in html.stdout
    assert '<h2 id="opening">Opening</h2>' in html.stdout
    assert "##" not in earlier.stdout.replace("### User", "")


async def test_rows_are_whole_and_safe_images_are_shown(command: Command, client: Client) -> None:
    """What a page leaves out of a large row is there; of images those that are of a kind and size to show."""
    await client.create_session("s")
    text = "x" * 100_000 + " the end"
    images = [
        Attachment(media_type="image/png", name="small.png", data=PNG + bytes(90_000)),
        Attachment(media_type="image/svg+xml", name="drawing.svg", data=b"<svg/>"),
        Attachment(media_type="image/png", name="large.png", data=PNG + bytes(5 << 20)),
        Attachment(media_type="image/png", name="none.png", data=b"<svg/>"),
        Attachment(media_type="image/png", name="far.png", uri="https://example.com/far.png"),
    ]
    rows = [
        Event(user_message=UserMessage(text=text, attachments=images)),
        Event(tool_call=ToolCall(call_id="a", name="Shot")),
        Event(tool_result=ToolResult(call_id="a", text=text, attachments=[images[0]])),
        Event(thinking=Thinking(text=text)),
    ]
    await client.append("s", rows)
    html = (await command("export", "s", "--format", "html")).stdout
    markdown = (await command("export", "s")).stdout

    assert html.count(" the end") == markdown.count(" the end") == 3
    assert "left out" not in html + markdown
    assert re.findall(r'<img src="data:image/(\w+);base64,[^"]*" alt="([^"]*)"', html) == [("png", "small.png")] * 2
    assert '<p class="file">drawing.svg · 6 bytes</p>' in html
    assert '<p class="file">large.png · 5.0 MiB</p>' in html
    assert '<p class="file">none.png · 6 bytes</p>' in html
    assert '<p class="file">far.png · https://example.com/far.png</p>' in html
    assert "Attached: small.png, 88.1 KiB" in markdown


async def test_json_lines_are_the_session_and_every_row_whole(command: Command, walk: str, client: Client) -> None:
    """As `show --view journal --json` has them."""
    header, *lines = (await command("export", walk, "--format", "jsonl")).lines
    shown = await command("show", walk, "--all", "--view", "journal", "--json")
    page = await client.read_page(walk, view=View.VIEW_JOURNAL, page_size=1000)

    assert list(json.loads(header)) == ["session"]
    assert ParseDict(json.loads(header)["session"], Session()) == await client.get_session(walk)
    assert lines == shown.lines
    assert [Parse(line, Event()) for line in lines] == page.events
    assert any(json.loads(line)["surface"].get("replace") for line in lines)
    assert (await command("export", walk, "--format", "jsonl", "--at", "7")).lines == [header, *lines[:7]]


async def test_what_was_exported_is_brought_in_again(command: Command, walk: str, tmp_path: Path) -> None:
    file = tmp_path / "walk.jsonl"
    exported = await command("export", "@last", "-o", str(file))
    there = await command("import", "jsonl", str(file))
    copied = await command("import", "jsonl", str(file), "--session", "copy")
    again = await command("import", "jsonl", str(file), "--session", "copy", "--json")
    several = await command("import", "jsonl", str(file), str(file), "--session", "copy")

    assert (exported.status, exported.stdout, exported.stderr) == (0, "", "")
    assert there.stdout == f"{file}: 0 rows added, 63 were there → review-walk\n"
    assert copied.stdout == f"{file}: 63 rows added → copy\n"
    assert json.loads(again.stdout)["added"] == 0
    assert several.status == 2
    assert (await command("export", "copy")).lines[3:] == (await command("export", walk)).lines[3:]


async def test_a_broken_line_is_told_with_what_to_do(command: Command, walk: str, tmp_path: Path) -> None:
    file = tmp_path / "walk.jsonl"
    lines = (await command("export", walk, "--format", "jsonl")).lines
    file.write_text("\n".join([*lines[:9], lines[9][:40], *lines[10:]]))
    ran = await command("import", "jsonl", str(file), "--session", "copy")

    assert ran.status == 1
    assert ran.stdout.startswith(f"{file}: failed: line 10 is no JSON (")
    assert ran.stdout.endswith("; mend it, or export the session again\n")


def parts_in(folder: Path) -> list[Path]:
    """What is left of files that were being written."""
    return [*folder.glob("*.part"), *folder.glob(".*.part")]


async def test_the_format_follows_the_files_name(command: Command, walk: str, tmp_path: Path) -> None:
    begins = {"a.md": "# Walk", "b.html": "<!DOCTYPE html>", "c.JSONL": '{"session"', "d": "# Walk"}
    for name, begin in begins.items():
        ran = await command("export", walk, "--output", str(tmp_path / name))
        assert (ran.status, ran.stdout) == (0, "")
        assert (tmp_path / name).read_text().startswith(begin)
    assert (await command("export", walk, "--format", "html", "-o", str(tmp_path / "a.md"))).status == 0
    assert (tmp_path / "a.md").read_text().startswith("<!DOCTYPE html>")
    assert parts_in(tmp_path) == []
    unknown = await command("export", walk, "-o", str(tmp_path / "walk.pdf"))
    assert (unknown.status, unknown.stdout) == (2, "")
    assert ".pdf is no format that is known: name one with --format" in unknown.stderr
    assert (await command("export", walk, "-o", "-")).stdout.startswith("# Walk")


async def test_what_lies_beside_the_file_is_left_alone(command: Command, walk: str, tmp_path: Path) -> None:
    beside = tmp_path / "walk.md.part"
    beside.write_text("precious")

    assert (await command("export", walk, "-o", str(tmp_path / "walk.md"))).status == 0
    assert beside.read_text() == "precious"


async def test_a_full_disk_behind_stdout_is_a_complaint(command: Command, walk: str) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    process = await asyncio.create_subprocess_exec(
        EXECUTABLE, "export", walk, env=command.environment, stdout=full, stderr=asyncio.subprocess.PIPE
    )
    os.close(full)
    _, stderr = await process.communicate()

    assert process.returncode == 1
    assert stderr.decode() == (
        "transcript: the output cannot be written: No space left on device; make room, or write elsewhere\n"
    )


async def test_a_file_that_cannot_be_written_is_a_complaint(command: Command, walk: str, tmp_path: Path) -> None:
    ran = await command("export", walk, "-o", str(tmp_path / "nowhere" / "walk.md"))

    assert ran.status == 1
    assert ran.stderr == (
        f"transcript: cannot write {tmp_path}/nowhere/walk.md: No such file or directory; "
        "name another file: --output FILE\n"
    )


async def test_a_reader_that_leaves_ends_it_without_a_word(command: Command, walk: str) -> None:
    """As `head` does."""
    for form in ("md", "html", "jsonl"):
        process = await asyncio.create_subprocess_exec(
            EXECUTABLE, "export", walk, "--format", form,
            env=command.environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout
        process.stdout._transport.close()
        _, stderr = await asyncio.wait_for(process.communicate(), 60)

        assert stderr == b""


async def test_held_rows_are_told_to_stay_behind(command: Command, client: Client) -> None:
    await client.create_session("s")
    await client.append("s", [Event(user_message=UserMessage(text="go")), Event(turn_started=TurnStarted())])
    await client.add_note("s", "held")
    for form in ("md", "html", "jsonl"):
        ran = await command("export", "s", "--format", form)

        assert ran.stderr == "1 row held until the running turn ends: not in the export\n"
    assert (await command("export", "s", "--at", "1")).stderr == ""


async def test_a_session_without_rows_is_exported_too(command: Command, client: Client, tmp_path: Path) -> None:
    await client.create_session("s", title="Empty")
    markdown = await command("export", "s")
    html = await command("export", "s", "--format", "html")
    file = tmp_path / "s.jsonl"
    await command("export", "s", "-o", str(file))

    assert markdown.stdout == "# Empty\n\ns · 0 turns · 0 messages · 0 rows · times in UTC\n\n"
    assert html.stdout.endswith("</main>\n</body>\n</html>\n")
    assert (await command("import", "jsonl", str(file), "--session", "t")).stdout == f"{file}: 0 rows added → t\n"


async def test_a_terminal_gets_a_bar_while_a_long_file_is_written(
    command: Command, client: Client, tmp_path: Path
) -> None:
    """And it is gone at the end."""
    await client.create_session("s")
    for _ in range(8):
        said = [Event(assistant_message=AssistantMessage(text="*word* " * 60)) for _ in range(500)]
        await client.append("s", said)
    ran = await (await command.on_terminal("export", "s", "-o", str(tmp_path / "s.html"))).end()

    assert ran.status == 0
    assert "/4000" in bare(ran.stdout)
    assert "\x1b[?25h" in ran.stdout, "the cursor is shown again"
    assert (tmp_path / "s.html").read_text().count("<article") == 4000


def test_without_jinja2_only_the_page_is_lost(tmp_path: Path) -> None:
    """And the command says how to get it, before any server is asked."""
    ran = run_without("jinja2", ["export", "x", "--format", "html"], tmp_path)

    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == (
        "transcript: a web page needs jinja2, which is not installed; install it: pip install 'transcript[terminal]'\n"
    )
    assert run_without("jinja2", ["export", "--help"], tmp_path).returncode == 0
