"""What is settled, what goes on, and that it does not matter how the rows come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from transcript.v1.event_pb2 import (
    CompactionEnded,
    CompactionStarted,
    ForeignRecord,
    HumanResponse,
    UserMessage,
)
from transcript_terminal.outline import Outline
from transcript_terminal.outline.blocks import Request

from .rows import Journal, blocks, drawn, expected, page


def test_a_running_compaction_is_in_progress() -> None:
    journal = Journal()
    journal.user("Go on.")
    journal.add(compaction_started=CompactionStarted(compaction_id="c"))
    outline = Outline()
    for row in journal.rows:
        outline.add(row)

    assert [block.text for block in outline.in_progress()] == ["compacting the context …"]
    outline.add(journal.add(compaction_ended=CompactionEnded(compaction_id="c")))
    assert outline.in_progress() == []
    assert [block.text for block in outline.finish()[1:]] == ["a compaction ended without effect"]


def test_questions_and_answers_and_which_still_wait() -> None:
    journal = Journal()
    journal.user("Ship it.")
    journal.ask("q1", "To production?", "yes", "no")
    journal.add(human_response=HumanResponse(request_id="q1", outcome=HumanResponse.OUTCOME_DENIED, answer="no"))
    journal.ask("q2", "Then where?")

    assert drawn(journal.rows, page(journal.rows, open_request_sequences=[4])) == expected("""
        User  09:01  #1
          Ship it.

        ? question  09:02  #2
          To production?
          [ yes | no ]

        ! denied  09:03  #3
          no

        ? question, waiting for an answer  09:04  #4
          Then where?
    """)


def test_while_watching_a_request_waits_until_it_is_answered_or_a_later_turn_is_asked_for() -> None:
    """Steering does not retire it, neither does a prompt of the same turn."""
    journal = Journal()
    journal.user("Ship it.")
    outline = Outline()
    outline.open(page(journal.rows))
    outline.add(journal.rows[0])

    def waiting() -> list[str]:
        return [block.request_id for block in outline.in_progress() if isinstance(block, Request) and block.is_open]

    outline.add(journal.ask("q1", "Where?"))
    outline.add(journal.ask("q2", "When?"))
    assert waiting() == ["q1", "q2"]
    outline.add(journal.user("Hurry.", origin=UserMessage.ORIGIN_STEERING))
    assert waiting() == ["q1", "q2"]
    outline.add(journal.add(human_response=HumanResponse(request_id="q1")))
    assert waiting() == ["q2"]
    outline.add(journal.user("Something else."))
    assert waiting() == []


KINDS = st.sampled_from(["user", "agent", "call", "result", "foreign", "ask", "answer", "steer"])


@given(st.lists(st.tuples(KINDS, st.sampled_from("ab")), max_size=40), st.lists(st.integers(1, 6), min_size=1))
def test_the_blocks_are_the_same_however_the_rows_come(history: list[tuple[str, str]], cuts: list[int]) -> None:
    """Read page by page and drawn as soon as it is settled, or all at once."""
    journal = Journal()
    for kind, name in history:
        match kind:
            case "user":
                journal.user("text")
            case "steer":
                journal.user("text", origin=UserMessage.ORIGIN_STEERING)
            case "agent":
                journal.agent("text")
            case "call":
                journal.call(name, "Bash")
            case "result":
                journal.result(name, "out")
            case "ask":
                journal.ask(name, "text")
            case "answer":
                journal.add(human_response=HumanResponse(request_id=name))
            case _:
                journal.add(foreign_record=ForeignRecord(format=name, type="t"))
    info = page(journal.rows)
    outline = Outline()
    outline.open(info)
    streamed = []
    for at, row in enumerate(journal.rows):
        outline.add(row)
        if at % cuts[at % len(cuts)] == 0:
            streamed += outline.settled()
    streamed += outline.settled() + outline.finish()

    assert streamed == blocks(journal.rows, info)
