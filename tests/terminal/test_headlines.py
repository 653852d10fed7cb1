"""Each block in one line: what lists and scenarios are written in."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from transcript.v1.event_pb2 import (
    Attachment,
    CompactionCheckpoint,
    ErrorReport,
    ForeignRecord,
    HumanRequest,
    HumanResponse,
    Note,
    ReplaceOp,
    SectionMarker,
    Surface,
    SystemMessage,
    Thinking,
    ToolCall,
    ToolResult,
    TurnStarted,
    UserMessage,
)
from transcript.v1.transcript_service_pb2 import HiddenSections
from transcript_terminal.outline import blocks as outline_blocks
from transcript_terminal.outline.blocks import Aside, Block, Line, Message, Rule, Speaker
from transcript_terminal.outline.headlines import _words, headline

from .rows import Journal, blocks, expected, page


def headlines(journal: Journal, *, as_journal: bool = False) -> str:
    return "\n".join(headline(block) for block in blocks(journal.rows, journal=as_journal))


def test_a_line_begins_with_the_row() -> None:
    """And says no time; what is no row of its own has no number."""
    noon = datetime(2026, 11, 24, 12, tzinfo=UTC)
    assert headline(Message(sequence=12, time=noon, speaker=Speaker.USER, text="Hi")) == "#12 User: Hi"
    assert headline(Line(text="compacting the context …")) == "· compacting the context …"


def test_white_space_is_single_spaces() -> None:
    """A text of many lines is one line, and is as long as it was."""
    words = " ".join(["word"] * 1000)
    assert headline(Rule(sequence=3, label=" a \t b ")) == "#3 ── a b ──"
    assert headline(Aside(heading="thinking", text=f"\n\n{words}\n\n  end\n")) == f"Thinking: {words} end"


def test_what_is_said() -> None:
    """The speaker, who it is in particular, the text, and what comes with it."""
    journal = Journal()
    journal.user("Look:", attachments=[Attachment(media_type="image/png", name="shot.png", data=b"x")])
    journal.user("", attachments=[Attachment(uri="https://example.com/a.txt")])
    journal.agent("Which one?\n\nThis *one*?")
    journal.user("the second", origin=UserMessage.ORIGIN_STEERING)
    journal.agent("")
    journal.user("go on", origin=UserMessage.ORIGIN_NUDGE)
    journal.add(note=Note(text="Deployed.", source="deploy-bot"))
    journal.add(thinking=Thinking())
    journal.add(system_message=SystemMessage(text="Be brief."))
    journal.rows[-1].elided_bytes = 42189

    assert headlines(journal) == expected("""
        #1 User: Look: [image/png shot.png]
        #2 User: [file https://example.com/a.txt]
        #3 Agent: Which one? This *one*?
        #4 User, steering: the second
        #5 Agent: (empty)
        #6 Nudge: go on
        #7 Note deploy-bot: Deployed.
        #8 Thinking: (empty)
        #9 Instructions: Be brief. (… 41.2 KiB left out)
    """)


def test_a_tool_card_is_its_call_and_what_came_of_it() -> None:
    """Arguments as written; a result whose call was not read says so."""
    journal = Journal()
    journal.call("a", "bash", '{"command": "ls"}')
    journal.result("a", "one\ntwo\n")
    journal.call("b", "now")
    journal.result("b", attachments=[Attachment(media_type="image/png", data=b"x")])
    journal.result("c", "no such file", is_error=True)
    journal.call("d", "bash", '{"command": "sleep"}')

    assert headlines(journal) == expected("""
        #1 Tool bash {"command": "ls"}: ok: one two
        #3 Tool now: ok [image/png]
        #5 Tool result: failed: no such file
        #6 Tool bash {"command": "sleep"}: no result
    """)
    assert headlines(journal, as_journal=True) == expected("""
        #1 Tool call bash {"command": "ls"}
        #2 Tool bash: ok: one two
        #3 Tool call now
        #4 Tool now: ok [image/png]
        #5 Tool result: failed: no such file
        #6 Tool call bash {"command": "sleep"}
    """)


def test_requests_say_whether_they_wait() -> None:
    journal = Journal()
    journal.add(human_request=HumanRequest(request_id="a", kind=HumanRequest.KIND_APPROVAL, prompt="Deploy?"))
    journal.add(human_response=HumanResponse(request_id="a", outcome=HumanResponse.OUTCOME_APPROVED))
    journal.ask("b", "Which?", "red", "green")
    journal.add(human_response=HumanResponse(request_id="b", answer="red"))
    journal.ask("c", "Why?", "so")
    rows = journal.rows
    found = blocks(rows, page(rows, open_request_sequences=[5]))

    assert "\n".join(map(headline, found)) == expected("""
        #1 Asks for approval: Deploy?
        #2 Approved
        #3 Asks: Which? [red | green]
        #4 Answered: red
        #5 Asks: Why? [so] (waiting)
    """)


def test_what_happened_otherwise() -> None:
    """Failures, rules, lines and other systems' records."""
    journal = Journal()
    journal.add(error_report=ErrorReport(reason="OVERLOADED", message="Try later."))
    journal.add(error_report=ErrorReport(message="Try later."))
    journal.add(error_report=ErrorReport(reason="OVERLOADED"))
    journal.add(section_marker=SectionMarker(label="third-item"))
    journal.add(section_marker=SectionMarker())
    journal.add(turn_started=TurnStarted(), fallback="A turn began.")
    for name in "aba":
        journal.add(foreign_record=ForeignRecord(format="claude-code", type=name))

    assert headlines(journal) == expected("""
        #1 Error OVERLOADED: Try later.
        #2 Error: Try later.
        #3 Error OVERLOADED
        #4 ── third-item ──
        #5 ────
        #7 3 records of claude-code: a 2, b
    """)
    assert "#6 · A turn began." in headlines(journal, as_journal=True)


def test_a_row_for_the_model_says_what_it_replaces() -> None:
    """And is numbered once."""
    journal = Journal()
    checkpoint = CompactionCheckpoint(compaction_id="c", text="They talked.")
    journal.add(compaction_checkpoint=checkpoint, surface=Surface(replace=ReplaceOp(start_sequence=1, end_sequence=4)))
    shorter = Surface(replace=ReplaceOp(start_sequence=3, end_sequence=3))
    journal.add(tool_result=ToolResult(call_id="a", text="short"), surface=shorter)
    journal.add(tool_call=ToolCall(call_id="b", name="bash", arguments_json="{}"), surface=shorter)

    assert headlines(journal, as_journal=True) == expected("""
        #1 In place of #1 to #4: Checkpoint: They talked.
        #2 In place of #3: Tool result: ok: short
        #3 In place of #3: Tool call bash {}
    """)


def test_what_lies_before_is_one_line() -> None:
    """Sections, rows, or both."""
    journal = Journal()
    for _ in range(40):
        journal.user("…")
    rows = journal.rows[36:]
    hidden = HiddenSections(count=3, labels=["first-item", "", "third-item"], marker_sequence=37)
    many = HiddenSections(count=40, labels=["a", "b"], marker_sequence=30)

    def bar(**info: object) -> str:
        return headline(blocks(rows, page(rows, **info))[0])

    assert bar(has_more=True, hidden_sections=hidden) == "3 earlier sections · first-item · unnamed · third-item"
    assert bar(has_more=True, hidden_sections=many) == (
        "7 earlier rows of this section, 40 earlier sections · … · a · b"
    )
    assert bar(has_more=True) == "36 earlier rows"
    assert bar() == "#37 User: …"


KINDS = [kind for kind in vars(outline_blocks).values() if isinstance(kind, type) and issubclass(kind, Block)]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not Block])
def test_every_block_has_a_line(kind: type[Block]) -> None:
    """None of them is left to an error that a reader would be the first to see."""
    assert _words.dispatch(kind) is not _words.dispatch(Block)
