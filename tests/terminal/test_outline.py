"""Rows become what a person reads: each expectation is the drawing of a pipe, line for line."""

from __future__ import annotations

from transcript.v1.event_pb2 import (
    Attachment,
    CompactionCheckpoint,
    CompactionEnded,
    CompactionStarted,
    CompactionSummary,
    ContextReset,
    ErrorReport,
    Event,
    ForeignRecord,
    InputReceipt,
    LogOnlyOp,
    Note,
    ReplaceOp,
    Rewind,
    SectionMarker,
    SessionForked,
    Status,
    SubagentCompleted,
    SubagentStarted,
    SubagentTerminated,
    Surface,
    SystemMessage,
    TurnEnded,
    TurnStarted,
    UserMessage,
)
from transcript.v1.transcript_service_pb2 import HiddenSections
from transcript_terminal.outline import Wording

from .rows import Journal, blocks, drawn, expected, page, passages


def test_who_speaks_and_when() -> None:
    """Each message under its speaker, with the time and the row that `--around` takes."""
    journal = Journal()
    journal.user("Why is it slow?")
    journal.agent("Because of **two** things:\n\n- one\n- two")
    journal.user("go on", origin=UserMessage.ORIGIN_NUDGE)
    journal.user("the second first", origin=UserMessage.ORIGIN_STEERING)
    journal.user("nightly run", origin=UserMessage.ORIGIN_AUTOMATION)
    journal.add(note=Note(text="Deployed at noon.", source="deploy-bot"))

    assert drawn(journal.rows) == expected("""
        User  09:01  #1
          Why is it slow?

        Agent  09:02  #2
          Because of **two** things:

          - one
          - two

        Nudge  09:03  #3
          go on

        User, steering  09:04  #4
          the second first

        Automation  09:05  #5
          nightly run

        Note deploy-bot  09:06  #6
          Deployed at noon.
    """)


def test_markers_are_rules() -> None:
    journal = Journal()
    journal.add(section_marker=SectionMarker(label="third-item", source="walk"))
    journal.user("Next.")
    journal.add(section_marker=SectionMarker())

    assert drawn(journal.rows) == expected("""
        ──── third-item ────

        User  09:02  #2
          Next.

        ────────
    """)


def test_hidden_sections_are_one_bar_at_the_top() -> None:
    journal = Journal()
    for _ in range(40):
        journal.user("…")
    rows = journal.rows[36:]
    hidden = HiddenSections(count=3, labels=["first-item", "", "third-item"], marker_sequence=37)
    many = HiddenSections(count=40, labels=["a", "b"], marker_sequence=30)

    def bar(**info: object) -> str:
        return drawn(rows, page(rows, **info)).splitlines()[0]

    assert bar(has_more=True, hidden_sections=hidden) == (
        "3 earlier sections · first-item · unnamed · third-item  [--expand]"
    )
    assert bar(has_more=True, hidden_sections=many) == (
        "7 earlier rows of this section, 40 earlier sections · … · a · b  [--all]"
    )
    assert bar(has_more=True) == "36 earlier rows  [--all]"
    assert bar() == "User  09:37  #37"


def test_a_compaction_is_one_line_and_its_summary_folded() -> None:
    journal = Journal()
    journal.user("Go on.")
    journal.add(compaction_started=CompactionStarted(compaction_id="c"))
    journal.add(compaction_summary=CompactionSummary(compaction_id="c", text="What was done so far."))
    journal.add(
        compaction_checkpoint=CompactionCheckpoint(compaction_id="c", text="", summary_sequence=3),
        surface=Surface(replace=ReplaceOp(start_sequence=1, end_sequence=1)),
    )
    journal.add(
        compaction_ended=CompactionEnded(compaction_id="c", landed=True, tokens_before=180000, tokens_after=900)
    )

    assert drawn(journal.rows) == expected("""
        User  09:01  #1
          Go on.

        ✻ summary  (1 line)
        earlier context was compacted (summary: #3)
        the context went from 180,000 to 900 tokens
    """)


def test_what_else_happens_is_a_line_and_what_went_well_is_none() -> None:
    journal = Journal()
    journal.add(turn_started=TurnStarted())
    journal.add(status=Status(text="Reading the code"))
    journal.add(input_receipt=InputReceipt(event_id="row-1"))
    journal.add(subagent_started=SubagentStarted(subagent_id="s1", name="scout", session_id="scout-1"))
    journal.add(subagent_completed=SubagentCompleted(subagent_id="s1", text="All clear."))
    journal.add(subagent_terminated=SubagentTerminated(subagent_id="s2", reason="time is up"))
    journal.add(error_report=ErrorReport(reason="RATE_LIMITED", message="Too many requests."))
    journal.add(turn_ended=TurnEnded(outcome=TurnEnded.OUTCOME_COMPLETED))
    journal.add(turn_ended=TurnEnded(outcome=TurnEnded.OUTCOME_INTERRUPTED))
    journal.add(turn_ended=TurnEnded(outcome=TurnEnded.OUTCOME_FAILED))
    journal.add(context_reset=ContextReset(reason="next item"))
    journal.add(rewind=Rewind(after_sequence=4))
    journal.add(system_message=SystemMessage(text="Be brief."))
    journal.add(session_forked=SessionForked(session_id="first", sequence=12))

    assert drawn(journal.rows) == expected("""
        Reading the code
        background agent scout began (session scout-1)

        Background agent scout  09:05  #5
          All clear.

        background agent s2 was stopped: time is up

        ✗ error RATE_LIMITED  09:07  #7
          Too many requests.

        the turn was interrupted
        the turn failed
        the model's context was emptied: next item
        the conversation went back to #4; what came after it no longer counts
        ✻ instructions  Be brief.
        up to here a copy of first, rows 1 to 12
    """)


def test_foreign_records_are_passed_over_and_counted_until_asked_for() -> None:
    """An import keeps what no kind here can say; for a person it is noise. Next to each other they are one line."""
    journal = Journal()
    for kind in ("progress", "progress", "snapshot"):
        journal.add(foreign_record=ForeignRecord(format="claude-code", type=kind, json="{}"))
    journal.user("Hello")
    journal.add(foreign_record=ForeignRecord(format="claude-code", type="progress", json="{}"))
    wording = Wording()

    assert [passage for block in blocks(journal.rows) for passage in wording.passages(block)][2:] == []
    assert wording.foreign_records == 4
    assert drawn(journal.rows, whole=True) == expected("""
        3 records of claude-code kept as they were: progress 2, snapshot

        User  09:04  #4
          Hello

        1 record of claude-code kept as they were: progress
    """)
    assert len(blocks(journal.rows, journal=True)) == 5


def test_a_kind_that_is_not_known_shows_its_fallback() -> None:
    """A newer server's row: the payload's field is unknown here."""
    journal = Journal()
    journal.add(fallback="The agent voted: yes")
    journal.add()

    assert drawn(journal.rows) == "The agent voted: yes\na row of an unknown kind"


def test_what_a_page_leaves_out_of_a_large_row_is_said() -> None:
    journal = Journal()
    journal.agent("The beginning", attachments=[Attachment(media_type="image/png", name="plan.png")])
    journal.rows[0].elided_bytes = 2_000_000
    journal.call("a", "Bash", '{"command": "cat log"}')
    journal.result("a", "x" * 1024).elided_bytes = 5 * 1024 * 1024

    assert drawn(journal.rows) == expected("""
        Agent  09:01  #1
          The beginning
          [plan.png, bytes left out]
          … 1.9 MiB left out  [--whole]

        ⏺ Bash  cat log  → ok, 5.0 MiB
    """)


def test_the_human_views_never_show_what_was_made_for_the_model() -> None:
    """Replacements are silent, whatever their kind; the journal view shows them, and every other row by itself."""
    journal = Journal()
    journal.user("Look.")
    journal.add(turn_started=TurnStarted())
    journal.call("a", "Bash", '{"command": "ls"}')
    journal.result("a", "1\n2\n3")
    pruned = journal.result("a", "pruned")
    pruned.surface.replace.start_sequence = pruned.surface.replace.end_sequence = 4
    journal.agent("again", usage=None)
    journal.rows[-1].surface.replace.start_sequence = journal.rows[-1].surface.replace.end_sequence = 1
    checkpoint = journal.add(
        compaction_checkpoint=CompactionCheckpoint(text="envelope"),
        surface=Surface(replace=ReplaceOp(start_sequence=1, end_sequence=6)),
    )
    journal.rows[1].surface.log_only.CopyFrom(LogOnlyOp())

    assert drawn(journal.rows) == expected("""
        User  09:01  #1
          Look.

        ⏺ Bash  ls  → ok, 3 lines
        earlier context was compacted
    """)
    assert checkpoint.compaction_checkpoint.text not in drawn(journal.rows, whole=True)
    assert drawn(journal.rows, journal=True) == expected("""
        #1  User  09:01
          Look.

        #2  turn started
        #3  ⏺ Bash  ls
        #4  ⏺ Bash  → ok, 3 lines

        #5  for the model, in place of #4  ⏺ tool  → ok, 1 line

        #6  for the model, in place of #1  Agent  09:06
          again

        #7  for the model, in place of #1 to #6  ✻ checkpoint  envelope
    """)


def test_a_new_day_is_said_once() -> None:
    journal = Journal()
    first = journal.user("Good night.")
    second = journal.user("Good morning.")
    second.time.seconds = first.time.seconds + 86_400
    heads = [passage.head[0].text for passage in passages(blocks(journal.rows))]

    assert heads == ["Tue 24 Nov 2026", "User", "Wed 25 Nov 2026", "User"]


def test_every_kind_of_the_contract_is_drawn() -> None:
    """An empty row of each: none fails, and only those that say nothing to a reader are silent."""
    silent = set()
    for field in Event.DESCRIPTOR.oneofs_by_name["payload"].fields:
        journal = Journal()
        row = journal.add()
        getattr(row, field.name).SetInParent()
        if drawn(journal.rows) == "":
            silent.add(field.name)
        assert drawn(journal.rows, journal=True, whole=True)

    assert silent == {"turn_started", "turn_ended", "input_receipt", "compaction_started", "status", "foreign_record"}
