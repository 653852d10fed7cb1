"""Compactions, and which rows a checkpoint takes the place of."""

from __future__ import annotations

from pathlib import Path

from transcript.v1.event_pb2 import CompactionEnded, CompactionStarted

from .logs import calls, events, gave, kinds, of_kind, read, reply, row, rows, said, typed

BRACKET = ["compaction_started", "compaction_summary", "compaction_checkpoint", "compaction_ended"]


def boundary(**metadata: object) -> dict:
    """The row that begins a compaction."""
    return row(
        "system", subtype="compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 150_000, **metadata}
    )


def summary(text: str = "This session is being continued …") -> dict:
    """The row that ends it."""
    return typed(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)


def test_a_compaction_is_a_bracket_around_its_summary_and_checkpoint(tmp_path: Path) -> None:
    """Both have the text: one as provenance, one as what the model sees."""
    begins = boundary(postTokens=9_000)
    log = [typed("Go."), reply(said("Done.")), begins, summary("What was done."), typed("Go on.")]
    found = events(read(tmp_path, *log))

    assert kinds(found) == ["user_message", "assistant_message", *BRACKET, "user_message"]
    assert found[2].compaction_started == CompactionStarted(
        compaction_id=begins["uuid"], trigger=CompactionStarted.TRIGGER_AUTO
    )
    assert found[3].compaction_summary.text == found[4].compaction_checkpoint.text == "What was done."
    assert found[5].compaction_ended == CompactionEnded(
        compaction_id=begins["uuid"], landed=True, tokens_before=150_000, tokens_after=9_000
    )
    assert {getattr(event, kind).compaction_id for event, kind in zip(found[2:6], BRACKET, strict=True)} == {
        begins["uuid"]
    }


def test_a_checkpoint_takes_the_place_of_all_that_the_model_was_sent(tmp_path: Path) -> None:
    """Rows that never stood on the surface are passed over, and the next checkpoint replaces this one."""
    log = [
        row("file-history-snapshot", snapshot={"a": 1}),
        typed("Go."),
        reply(calls("t1")),
        row("progress", data={"type": "bash_progress"}),
        boundary(),
        summary(),
        gave("t1"),
        boundary(),
        summary(),
    ]
    checkpoints = [one for one in rows(read(tmp_path, *log)) if one.event.HasField("compaction_checkpoint")]

    assert [one.replaces for one in checkpoints] == [
        (f"{log[1]['uuid']}:0", f"{log[2]['uuid']}:0"),
        (checkpoints[0].event.id, f"{log[6]['uuid']}:0"),
    ]


def test_a_compaction_of_nothing_does_not_land(tmp_path: Path) -> None:
    """A checkpoint has to take the place of something."""
    found = events(read(tmp_path, boundary(), summary(), typed("Go on.")))

    assert kinds(found) == ["compaction_started", "compaction_summary", "compaction_ended", "user_message"]
    assert not found[2].compaction_ended.landed


def test_a_summary_without_a_boundary_opens_its_own_bracket(tmp_path: Path) -> None:
    """The boundary's line may be torn."""
    assert kinds(events(read(tmp_path, typed("Go."), summary()))) == ["user_message", *BRACKET]


def test_a_compaction_that_was_given_up_ends_when_the_next_begins(tmp_path: Path) -> None:
    """A reader would see it run for ever."""
    found = events(read(tmp_path, typed("Go."), boundary(), boundary(), summary()))

    assert kinds(found) == ["user_message", "compaction_started", "compaction_ended", *BRACKET]
    assert [one.landed for one in of_kind(found, "compaction_ended")] == [False, True]


def test_rows_that_the_log_says_were_kept_stay_on_the_surface(tmp_path: Path) -> None:
    """Newer versions keep the latest messages as they were."""
    log = [typed("Old."), reply(said("Old too.")), typed("New."), reply(said("New too."))]
    for kept in (
        {"preservedSegment": {"headUuid": log[2]["uuid"], "anchorUuid": "x", "tailUuid": log[3]["uuid"]}},
        {"preservedMessages": {"anchorUuid": "x", "uuids": [log[2]["uuid"], log[3]["uuid"]]}},
    ):
        found = rows(read(tmp_path, *log, boundary(**kept), summary(), boundary(), summary()))
        first, second = (one for one in found if one.event.HasField("compaction_checkpoint"))

        assert first.replaces == (f"{log[0]['uuid']}:0", f"{log[1]['uuid']}:0")
        assert second.replaces == (first.event.id, f"{log[3]['uuid']}:0")


def test_a_kept_result_keeps_its_call(tmp_path: Path) -> None:
    """A replacement must not leave half of a pair, or the server refuses it."""
    log = [typed("Go."), reply(calls("t1")), reply(calls("t2")), gave("t2"), gave("t1"), reply(said("Done."))]
    kept = {"preservedSegment": {"headUuid": log[4]["uuid"]}}
    found = rows(read(tmp_path, *log, boundary(**kept), summary()))

    assert [one.replaces for one in found if one.replaces] == [(f"{log[0]['uuid']}:0", f"{log[0]['uuid']}:0")]


def test_kept_rows_that_never_stood_there_keep_nothing(tmp_path: Path) -> None:
    """They come after the boundary then."""
    log = [typed("Go."), reply(said("Done."))]
    found = rows(read(tmp_path, *log, boundary(preservedSegment={"headUuid": "unknown"}), summary()))

    assert [one.replaces for one in found if one.replaces] == [(f"{log[0]['uuid']}:0", f"{log[1]['uuid']}:0")]
