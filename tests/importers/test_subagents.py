"""Agents that a session started: what its own log shows of them, and their own sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from transcript.v1.event_pb2 import SubagentCompleted, SubagentStarted, SubagentTerminated, UserMessage
from transcript.v1.session_pb2 import SESSION_KIND_INTERACTIVE, SESSION_KIND_SUBAGENT
from transcript_importers.claude_code.files import log_files

from .logs import SESSION, calls, events, gave, kinds, of_kind, queue, read, reply, row, said, typed, write

STARTS = reply(calls("t1", "Task", description="Count files", prompt="Count the files.", subagent_type="Explore"))
STARTED = SubagentStarted(subagent_id="a1", name="Count files", session_id=f"{SESSION}.a1")


def notice(status: str, **said_so: str) -> str:
    """What an agent in the background leaves when it is done."""
    tags = {"task-id": "a1", "status": status, **said_so}
    inside = "\n".join(f"<{tag}>{text}</{tag}>" for tag, text in tags.items())
    return f"<task-notification>\n{inside}\n</task-notification>"


def agent_row(content: object, agent: str = "a1", **fields: object) -> dict:
    """A user row of an agent."""
    return typed(content, isSidechain=True, **({"agentId": agent} if agent else {}), **fields)


def test_an_agent_starts_with_its_first_progress_and_ends_with_its_calls_result(tmp_path: Path) -> None:
    """However much progress it reports."""
    progress = [
        row("progress", data={"type": "agent_progress", "agentId": "a1"}, parentToolUseID="t1", toolUseID=f"p{n}")
        for n in range(3)
    ]
    log = [typed("Go."), STARTS, *progress, gave("t1", "Seven.", record={"agentId": "a1", "status": "completed"})]
    found = events(read(tmp_path, *log))

    assert kinds(found)[2:] == [
        "subagent_started", "foreign_record", "foreign_record", "foreign_record", "tool_result", "subagent_completed",
    ]  # fmt: skip
    assert of_kind(found, "subagent_started") == [STARTED]
    assert of_kind(found, "subagent_completed") == [SubagentCompleted(subagent_id="a1", text="Seven.")]


def test_an_agent_that_only_its_result_shows_is_there_too(tmp_path: Path) -> None:
    """Versions before progress rows."""
    found = events(read(tmp_path, STARTS, gave("t1", "Seven.", record={"agentId": "a1", "status": "completed"})))

    assert kinds(found) == ["tool_call", "subagent_started", "tool_result", "subagent_completed"]


def test_an_agents_report_is_what_it_said_and_not_what_the_model_is_told_besides(tmp_path: Path) -> None:
    """The result's own row has both."""
    told = [said("Seven."), said("agentId: a1 (for resuming)")]
    record = {"agentId": "a1", "status": "completed", "content": [said("Seven.")]}
    found = events(read(tmp_path, STARTS, gave("t1", told, record=record)))

    assert of_kind(found, "subagent_completed") == [SubagentCompleted(subagent_id="a1", text="Seven.")]
    assert of_kind(found, "tool_result")[0].text == "Seven.\nagentId: a1 (for resuming)"


def test_an_agent_in_the_background_ends_with_its_notification(tmp_path: Path) -> None:
    """Which stands in the log several times: when it was queued, when it was told."""
    done = notice("completed", summary="Agent done", result="Seven.")
    log = [
        typed("Go."),
        STARTS,
        gave("t1", "Launched.", record={"isAsync": True, "status": "async_launched", "agentId": "a1"}),
        queue("enqueue", done),
        queue("dequeue"),
        typed(done),
    ]
    found = events(read(tmp_path, *log))

    assert of_kind(found, "subagent_started") == [STARTED]
    assert of_kind(found, "subagent_completed") == [SubagentCompleted(subagent_id="a1", text="Seven.")]
    assert of_kind(found, "user_message")[1] == UserMessage(text=done, origin=UserMessage.ORIGIN_AUTOMATION)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (gave("t1", "Interrupted by user", is_error=True), "Interrupted by user"),
        (typed(notice("killed", summary="Agent was stopped")), "Agent was stopped"),
        (typed(notice("failed")), "failed"),
    ],
)
def test_an_agent_that_was_stopped_or_failed_did_not_complete(tmp_path: Path, end: dict, reason: str) -> None:
    """Its end is told without a report."""
    progress = row("progress", data={"type": "agent_progress", "agentId": "a1"}, parentToolUseID="t1")
    found = events(read(tmp_path, STARTS, progress, end))

    assert of_kind(found, "subagent_terminated") == [SubagentTerminated(subagent_id="a1", reason=reason)]
    assert of_kind(found, "subagent_completed") == []


def test_an_agent_that_is_started_again_has_two_runs(tmp_path: Path) -> None:
    """Under one id, each with its own call."""
    again = reply(calls("t2", "Agent", description="Count again", resume="a1"))
    log = [
        STARTS,
        gave("t1", "Seven.", record={"agentId": "a1", "status": "completed"}),
        again,
        gave("t2", "Eight.", record={"agentId": "a1", "status": "completed"}),
    ]
    found = events(read(tmp_path, *log))

    assert [one.name for one in of_kind(found, "subagent_started")] == ["Count files", "Count again"]
    assert [one.text for one in of_kind(found, "subagent_completed")] == ["Seven.", "Eight."]
    assert len({event.id for event in found}) == len(found)


def test_a_notification_of_something_else_is_nobodys_end(tmp_path: Path) -> None:
    """Shell commands in the background use the same path."""
    found = events(read(tmp_path, typed(notice("completed"))))

    assert kinds(found) == ["user_message"]


def test_two_agents_that_end_in_one_row_are_told_apart(tmp_path: Path) -> None:
    """Rows of one entry need ids of their own."""
    both = typed(
        [{"type": "tool_result", "tool_use_id": one, "content": "done"} for one in ("t1", "t2")],
    )
    progress = [
        row("progress", data={"type": "agent_progress", "agentId": f"a{n}"}, parentToolUseID=f"t{n}") for n in (1, 2)
    ]
    found = events(read(tmp_path, STARTS, reply(calls("t2", "Task", prompt="x")), *progress, both))

    assert [one.subagent_id for one in of_kind(found, "subagent_completed")] == ["a1", "a2"]
    assert len({event.id for event in found}) == len(found)


@pytest.mark.parametrize("agent", ["a1", ""])
def test_agents_rows_inside_a_log_are_sessions_of_their_own(tmp_path: Path, agent: str) -> None:
    """With the agent's id, or in older logs only as a chain from a first row."""
    first = agent_row("Count the files.", agent)
    second = reply(said("Seven."), isSidechain=True, parentUuid=first["uuid"], **({"agentId": agent} if agent else {}))
    log = [typed("Go."), STARTS, first, second, gave("t1", "Seven."), reply(said("It is seven."))]
    main, child = read(tmp_path, *log).sessions

    assert main.info.kind == SESSION_KIND_INTERACTIVE
    assert (child.info.kind, child.info.parent_session_id) == (SESSION_KIND_SUBAGENT, SESSION)
    assert child.info.id == f"{SESSION}.{agent or first['uuid']}"
    assert child.info.title == "Count the files."
    assert kinds(one.event for one in child.rows) == ["user_message", "assistant_message"]
    assert child.rows[0].event.user_message.origin == UserMessage.ORIGIN_AUTOMATION
    found = [one.event for one in main.rows]
    assert kinds(found)[2:5] == ["subagent_started", "tool_result", "subagent_completed"]
    (started,) = of_kind(found, "subagent_started")
    assert (started.subagent_id, started.name, started.session_id) == (agent or "t1", "Count files", child.info.id)


def test_chains_of_agents_at_work_together_are_told_apart(tmp_path: Path) -> None:
    """Their rows are interleaved; a row whose parent is nowhere belongs to the latest."""
    one, two = agent_row("First task.", ""), agent_row("Second task.", "")
    log = [
        typed("Go."),
        one,
        two,
        reply(said("one"), isSidechain=True, parentUuid=one["uuid"]),
        reply(said("two"), isSidechain=True, parentUuid=two["uuid"]),
        reply(said("two again"), isSidechain=True, parentUuid="nowhere"),
    ]
    _, first, second = read(tmp_path, *log).sessions

    texts = [[row.event.assistant_message.text for row in session.rows[1:]] for session in (first, second)]
    assert texts == [["one"], ["two", "two again"]]


@pytest.mark.parametrize("name", [f"{SESSION}/subagents/agent-a1.jsonl", "agent-a1.jsonl"])
def test_an_agents_own_log_is_a_child_session(tmp_path: Path, name: str) -> None:
    """In the folder of its parent's log, or beside it; whether or not the parent's log is there."""
    contents = read(tmp_path, agent_row("Count."), reply(said("Seven."), isSidechain=True, agentId="a1"), name=name)
    (session,) = contents.sessions

    assert session.info.id == STARTED.session_id
    assert (session.info.kind, session.info.parent_session_id) == (SESSION_KIND_SUBAGENT, SESSION)
    assert kinds(one.event for one in session.rows) == ["user_message", "assistant_message"]


def test_an_agents_folder_tells_its_parent_even_if_that_log_was_renamed(tmp_path: Path) -> None:
    """The parent's id comes from its file's name, so the child's does too."""
    parent = read(tmp_path, typed("Go."), STARTS, name="my log.jsonl").sessions[0].info
    child = read(tmp_path, agent_row("Count."), name="my log/subagents/agent-a1.jsonl").sessions[0].info

    assert (child.parent_session_id, child.id) == (parent.id, f"{parent.id}.a1")


def test_parents_come_before_their_agents_and_every_file_once(tmp_path: Path) -> None:
    """A session's parent has to be there before it."""
    agent = write(tmp_path, agent_row("Count."), name=f"deep/{SESSION}/subagents/agent-a1.jsonl")
    other = write(tmp_path, agent_row("Count."), name="deep/agent-b.jsonl")
    parent = write(tmp_path, typed("Go."), name=f"deep/{SESSION}.jsonl")
    (tmp_path / "deep" / "notes.txt").write_text("no log")

    assert log_files([agent, tmp_path, parent]) == [parent, agent, other]
