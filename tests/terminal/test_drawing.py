"""Passages on a terminal: fitted to its width, and nothing in them that a terminal would act upon."""

from __future__ import annotations

import io
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from transcript.v1.event_pb2 import Event, ForeignRecord, HumanRequest, SectionMarker, Thinking
from transcript.v1.live_pb2 import LiveUpdate
from transcript_terminal.drawing import plain, styled
from transcript_terminal.drawing.columns import aligned
from transcript_terminal.outline.live_text import LiveText

from .rows import Journal, blocks, passages

NASTY = "\x1b[31mred\x1b]0;owned\x07\x9b31m\r\u202eflip\u200b"
SGR = re.compile(r"\x1b\[[0-9;]*m")


def on_terminal(rows: list[Event], width: int = 80, *, color: bool = True) -> str:
    """What a terminal of this width is sent."""
    file = io.StringIO()
    console = Console(
        file=file,
        force_terminal=True,
        width=width,
        theme=styled.THEME,
        color_system="truecolor",
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    for renderable in styled.drawn(passages(blocks(rows))):
        console.print(renderable)
    return file.getvalue()


def text_of(drawing: str) -> str:
    return SGR.sub("", drawing)


def lines_of(drawing: str) -> list[str]:
    return [line.rstrip() for line in text_of(drawing).splitlines()]


def nasty_rows(text: str) -> list[Event]:
    """Rows of every kind with the text wherever it can stand."""
    journal = Journal()
    for field in Event.DESCRIPTOR.oneofs_by_name["payload"].fields:
        row = journal.add()
        payload = getattr(row, field.name)
        payload.SetInParent()
        for part in field.message_type.fields:
            if part.type == part.TYPE_STRING and part.is_repeated:
                getattr(payload, part.name).append(text)
            elif part.type == part.TYPE_STRING:
                setattr(payload, part.name, text)
        row.fallback = text
    attachment = journal.agent("x").assistant_message.attachments.add()
    attachment.name, attachment.media_type, attachment.uri = text, text, text
    return journal.rows


def test_no_text_of_a_row_reaches_the_terminal_unmended() -> None:
    """Every string field of every kind, in the pipe's drawing and in the terminal's."""
    piped = "\n".join(plain.lines(passages(blocks(nasty_rows(NASTY)))))
    shown = text_of(on_terminal(nasty_rows(NASTY)))

    for drawing in (piped, shown):
        assert not set("\x1b\x9b\x07\r\u202e\u200b").intersection(drawing)
        assert "owned" not in drawing
        assert "\\u{202e}flip\\u{200b}" in drawing


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.sampled_from("\x1b\x9b\x9d\x90\x07\r\n[]m0;*_`#>-|()!<&x1 語\u202e"), max_size=60))
def test_no_markdown_reaches_the_terminal_unmended(text: str) -> None:
    """Markdown is drawn by somebody else's code: whatever it makes of the text, no control is left."""
    journal = Journal()
    journal.agent(text)
    journal.user(f"&#27;[31m &#x9b; &#x202e; {text}")

    assert not set("\x1b\x9b\x9d\x90\x07\r\u202e").intersection(text_of(on_terminal(journal.rows, 40)))


def test_links_and_images_and_html_are_text() -> None:
    """No hyperlink of the terminal's, no picture in place of an address, no tag that vanishes."""
    journal = Journal()
    journal.agent(
        "[click](https://example.org/a) ![alt](https://example.org/pixel.png) <https://example.org> <b>bold</b>\n\n"
        "<details>\nhidden\n</details>"
    )
    drawing = on_terminal(journal.rows, 200)

    assert "\x1b]8" not in drawing
    assert lines_of(drawing)[3:] == [
        "  click (https://example.org/a) [image: alt](https://example.org/pixel.png) https://example.org <b>bold</b>",
        "",
        "  <details>",
        "  hidden",
        "  </details>",
    ]


def test_markdown_is_drawn_and_its_line_breaks_kept() -> None:
    journal = Journal()
    journal.agent(
        "# Title\nfirst line\nsecond `line`\n\n```python\nx = 1\n    y = 2\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )

    assert lines_of(on_terminal(journal.rows, 40))[2:] == [
        "Agent  09:01  #1",
        "  # Title",
        "",
        "  first line",
        "  second line",
        "",
        "    x = 1",
        "        y = 2",
        "",
        "  a  b",
        "  ────",
        "  1  2",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """In cells, whatever the script."""
    journal = Journal()
    journal.add(section_marker=SectionMarker(label="東京" * 30))
    journal.user("狭い端末でも読める。" * 20)
    journal.agent("| 名前 | 説明 |\n|---|---|\n| " + "長" * 60 + " | " + "w" * 300 + " |")
    journal.call("a", "Bash", json.dumps({"command": "echo " + "語" * 200}))
    journal.result("a", "失敗" * 200, is_error=True)
    journal.add(thinking=Thinking(text="考える" * 100))
    journal.add(human_request=HumanRequest(prompt="どこ?", options=["選択肢" * 20] * 5))
    journal.add(foreign_record=ForeignRecord(format="x" * 300, type="y"))

    assert max(cell_len(line) for line in lines_of(on_terminal(journal.rows, width))) <= width


def test_a_tool_card_keeps_one_line_and_its_outcome() -> None:
    journal = Journal()
    journal.call("a", "Bash", json.dumps({"command": "make " + "target-" * 30}))
    journal.result("a", "1\n2")
    journal.call("b", "Read", json.dumps({"file_path": "/home/sam/" + "folder/" * 20 + "file.py"}))
    journal.result("b", "No such file: " + "x" * 100, is_error=True)
    cards = lines_of(on_terminal(journal.rows))

    assert len(cards) == 2
    assert cards[0].startswith("⏺ Bash  make target-")
    assert cards[0].endswith("…  → ok, 2 lines")
    assert cards[1].startswith("⏺ Read  …")
    assert "/folder/file.py  ✗ failed: No such file: xxx" in cards[1]
    assert cards[1].endswith("…")


def test_a_section_is_a_rule_over_the_whole_width() -> None:
    journal = Journal()
    journal.add(section_marker=SectionMarker(label="second-item"))
    journal.add(section_marker=SectionMarker())

    assert lines_of(on_terminal(journal.rows, 41))[2:] == ["─" * 14 + " second-item " + "─" * 14, "", "─" * 41]


def test_without_colour_there_is_none() -> None:
    """NO_COLOR leaves bold and dim, which are no colours."""
    drawing = on_terminal(nasty_rows("text"), color=False)
    codes = {int(code) for found in SGR.findall(drawing) for code in found[2:-1].split(";") if code}

    assert codes
    assert not {code for code in codes if code >= 30}


def test_a_message_cannot_pretend_to_be_anothers() -> None:
    """What somebody said is indented; only names stand at the left."""
    journal = Journal()
    journal.user("Fine.\n\nAgent  09:02  #2\n  I deleted everything, as you asked.")
    drawing = "\n".join(plain.lines(passages(blocks(journal.rows))))

    assert [line for line in drawing.splitlines() if line.startswith("Agent")] == []


def test_a_body_that_markdown_cannot_draw_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal()
    journal.agent("*text*")

    def fail(self: object, markup: str) -> None:
        raise RuntimeError(markup)

    monkeypatch.setattr(styled.SafeMarkdown, "__init__", fail)

    assert lines_of(on_terminal(journal.rows))[-1] == "  *text*"


def test_columns_are_aligned_in_cells_and_cut_only_to_a_terminal() -> None:
    rows = [("a", "1 message", "", "short"), ("東京", "12 messages", "running", "a long title " * 5)]

    assert aligned(rows) == [
        "a     1 message             short",
        f"東京  12 messages  running  {('a long title ' * 5).strip()}",
    ]
    assert aligned(rows, 50)[1] == "東京  12 messages  running  a long title a long t…"
    assert aligned(rows, 28)[1] == "東京  12 messages  running"
    assert aligned([("x", "", "\x1b[31mred\nline")]) == ["x  red line"]


def test_live_text_grows_is_resent_and_waits_where_its_beginning_is_missing() -> None:
    live = LiveText()
    live.add(LiveUpdate(event_id="a", offset=0, text_delta="Grü"))
    live.add(LiveUpdate(event_id="a", offset=4, text_delta="ße"))
    live.add(LiveUpdate(event_id="b", offset=10, text_delta="lost its beginning"))
    assert live.texts() == ["Grüße"]
    live.add(LiveUpdate(event_id="a", offset=2, text_delta="oß"))
    assert live.texts() == ["Groß"]
    live.add(LiveUpdate(event_id="a", offset=90, text_delta="a gap"))
    assert live.texts() == ["Groß"]
    live.landed("a")
    assert live.texts() == []
