"""The logs that real runs of the agent program wrote, row for row where it matters."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from transcript.v1.event_pb2 import AssistantMessage, Event, UserMessage
from transcript_importers.claude_code import LogContents, NotALog, read_log

from .logs import events, kinds, of_kind

HUMAN, STEERING, AUTOMATION = (
    UserMessage.ORIGIN_HUMAN,
    UserMessage.ORIGIN_STEERING,
    UserMessage.ORIGIN_AUTOMATION,
)
PARENTS = {
    "claude/moredip-0ccf": "0ccf1a04-1b4c-43b6-8aa5-79e41db43a68",
    "claude/spotter-258c": "258c7280-ae70-4798-800f-63464d01a85d",
}


@cache
def log(path: Path) -> LogContents:
    """A log as it is read; several tests look at each."""
    return read_log(path)


def logs(shared_data: Path) -> list[Path]:
    """Every log of the agent program."""
    return [*sorted((shared_data / "claude").rglob("*.jsonl")), *sorted((shared_data / "derived").glob("claude-*"))]


def all_events(contents: LogContents) -> list[Event]:
    """The rows of every session."""
    return [one.event for session in contents.sessions for one in session.rows]


def objects(path: Path) -> list[dict]:
    """The objects of a log, by a reader that knows nothing of dirt."""
    found = []
    for line in path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        found += [value] if isinstance(value, dict) else []
    return found


def said_in(value: dict) -> list[dict]:
    """The blocks of an object's message, plain text as a block."""
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def ids_of(path: Path, kind: str) -> set[str]:
    """The ids of the tool calls, or results, that stand in a log."""
    key = {"tool_use": "id", "tool_result": "tool_use_id"}[kind]
    return {block[key] for value in objects(path) for block in said_in(value) if block.get("type") == kind}


def prompts(contents: LogContents, origin: int) -> list[str]:
    """The user messages of the file's own session that came this way."""
    return [one.text for one in of_kind(events(contents), "user_message") if one.origin == origin]


def read(shared_data: Path, name: str) -> LogContents:
    """A log, by its place."""
    return log(shared_data / name)


def test_every_log_reads(shared_data: Path) -> None:
    """With rows, and ids that are unique within their session."""
    for path in logs(shared_data):
        contents = log(path)
        for session in contents.sessions:
            ids = [one.event.id for one in session.rows]
            assert len(ids) == len(set(ids)), path.name
        assert all_events(contents), path.name


def test_no_tool_call_and_no_result_is_lost_or_doubled(shared_data: Path) -> None:
    """Whatever a log repeats."""
    for path in logs(shared_data):
        found = all_events(log(path))
        as_given = [one.event for session in log(path).sessions for one in session.rows if not one.replaces]
        made = Counter(one.call_id for one in of_kind(found, "tool_call"))
        given = Counter(one.call_id for one in of_kind(as_given, "tool_result"))

        assert made == Counter(ids_of(path, "tool_use")), path.name
        assert given == Counter(ids_of(path, "tool_result")), path.name


def test_every_object_of_a_log_has_a_row_or_is_a_copy(shared_data: Path) -> None:
    """Nothing is passed over in silence: what a uuid without a row says has been said by an earlier one."""
    left_out: Counter[str] = Counter()
    for path in logs(shared_data):
        stems = {event.id.partition(":")[0].partition("~")[0] for event in all_events(log(path))}
        said: set[str] = set()
        for value in objects(path):
            blocks = [json.dumps(block, sort_keys=True) for block in said_in(value)]
            if value.get("uuid") and value["uuid"] not in stems:
                left_out[path.name] += 1
                assert blocks, path.name
                assert said.issuperset(blocks), path.name
            said.update(blocks)

    assert left_out == {
        "happy-duplicate-assistant.jsonl": 1,
        "moredip-general-tool-calls.jsonl": 177,
        "moredip-images-in-user-messages.jsonl": 9,
    }


def test_tokens_are_counted_once_per_reply(shared_data: Path) -> None:
    """Up to a log's last message: what it says of replies after that, no message can report."""
    unreported = {"ccl-edge-cases.jsonl", "moredip-general-tool-calls.jsonl", "moredip-images-in-tool-results.jsonl",
                  "spotter-tool-heavy.jsonl", "claude-forked-copy-new-session-id.jsonl", "claude-forked-parent.jsonl",
                  "claude-steering-queued-command.jsonl", "claude-bom-crlf-cut-in-utf8.jsonl"}  # fmt: skip
    for path in logs(shared_data):
        replies: dict[str, int] = {}
        for value in objects(path):
            if value.get("type") == "assistant":
                written = value["message"]["usage"]["output_tokens"]
                reply = value["message"]["id"]
                replies[reply] = max(replies.get(reply, 0), written)
        reported = sum(one.usage.output_tokens for one in of_kind(all_events(log(path)), "assistant_message"))

        assert reported <= sum(replies.values()), path.name
        assert (reported == sum(replies.values())) == (path.name not in unreported), path.name


def test_two_compactions_and_three_interrupts(shared_data: Path) -> None:
    """A long session, compacted in the middle of a turn and right after a prompt."""
    contents = read(shared_data, "claude/entire-2compact-interrupts.jsonl")
    found = events(contents)
    ended = Counter(one.outcome for one in of_kind(found, "turn_ended"))

    assert [one.tokens_before for one in of_kind(found, "compaction_ended")] == [156_699, 155_241]
    assert all(one.landed for one in of_kind(found, "compaction_ended"))
    assert [one.event.id.partition(":")[0][:8] for one in contents.sessions[0].rows if one.replaces] == [
        "be855b43",
        "d2168b14",
    ]
    assert [one.replaces for one in contents.sessions[0].rows if one.replaces] == [
        ("5e4ffc47-a8f0-4515-b89a-6dd4d416f01c:0", "64d78408-6b88-4046-bf7d-db10980018f9:0"),
        ("be855b43-df6e-466b-8c97-7ab603dc48f7:checkpoint", "fec2454c-bc3b-4c50-9d2d-4a2cacea83ca:0"),
    ]
    assert len(prompts(contents, HUMAN)) == 26
    assert (ended[1], ended[2]) == (11, 3)
    assert len(of_kind(found, "thinking")) == 133
    # Summaries of three other sessions stand at its head.
    assert contents.sessions[0].info.title.startswith("in /Users/dev/Work/entire/research/git-ai")


def test_a_microcompaction_clears_the_results_that_it_names(shared_data: Path) -> None:
    """And a prompt that an old version absorbed without a reason steers."""
    contents = read(shared_data, "claude/entire-microcompact.jsonl")
    records = [json.loads(one.json) for one in of_kind(events(contents), "foreign_record")]
    (named,) = [one["microcompactMetadata"]["compactedToolIds"] for one in records if "microcompactMetadata" in one]

    assert [one.event.tool_result.call_id for one in contents.sessions[0].rows if one.replaces] == named
    assert prompts(contents, STEERING) == ["note: auto strategy seems to work"]
    assert len(prompts(contents, HUMAN)) == 4


def test_words_beside_results_and_queued_prompts_steer(shared_data: Path) -> None:
    """Six times in one session."""
    contents = read(shared_data, "claude/entire-subagents-progress.jsonl")

    assert [text[:40] for text in prompts(contents, STEERING)] == [
        "we did a migration from entire/sessions ",
        "can we do this in the git hooks directly",
        "(I'm not 100% sure but it did start with",
        "it's in worktree 2 I'm seeing this issue",
        "sorry, I didn't specify earlier but this",
        "this is why I wanted to log the file",
    ]
    assert len(prompts(contents, HUMAN)) == 30


def test_a_newer_queued_command_steers_once(shared_data: Path) -> None:
    """The queue and an attachment tell of it."""
    contents = read(shared_data, "derived/claude-steering-queued-command.jsonl")

    assert prompts(contents, STEERING) == ["also update the README — 日本語のメモも 🚀"]
    assert kinds(events(contents))[3:8] == [
        "tool_result", "foreign_record", "user_message", "foreign_record", "assistant_message",
    ]  # fmt: skip


def test_a_reply_that_was_written_down_twice(shared_data: Path) -> None:
    """Another uuid, the same message.id, the same text."""
    contents = read(shared_data, "claude/happy-duplicate-assistant.jsonl")

    assert [one.text for one in of_kind(events(contents), "assistant_message")] == ["lol", "kekr"]


def test_a_conversation_that_was_written_down_twice(shared_data: Path) -> None:
    """The editor's extension copies every row on a resume."""
    contents = read(shared_data, "claude/moredip-general-tool-calls.jsonl")

    assert [text.split("\n")[0][:30] for text in prompts(contents, HUMAN)] == [
        "read plan.md and roadmap.md. W",
        "I forgot to tell you, we alrea",
        "- name the command /session-sh",
        "are you able to test it",
        "can you test it by running `cl",
        "commit!",
    ]
    assert contents.unreadable == 2
    assert contents.sessions[0].info.title == "Claude Code Session Share Plugin Development"


@pytest.mark.parametrize("folder", PARENTS)
def test_agents_files_are_children_that_the_parents_log_names(shared_data: Path, folder: str) -> None:
    """As SubagentStarted and by their parent."""
    parent = read_log(shared_data / folder / f"{PARENTS[folder]}.jsonl").sessions[0]
    started = {one.session_id for one in of_kind([row.event for row in parent.rows], "subagent_started")}
    files = sorted((shared_data / folder).rglob("agent-*.jsonl"))
    children = [read_log(path).sessions[0].info for path in files]

    assert {child.parent_session_id for child in children} == {parent.info.id} == {PARENTS[folder]}
    assert [child.id for child in children] == [
        f"{parent.info.id}.{path.stem.removeprefix('agent-')}" for path in files
    ]
    # The compaction's own call is an agent that no log announces.
    assert {child.id for child in children if ".acompact-" not in child.id} == started


def test_agents_in_the_background_report(shared_data: Path) -> None:
    """Five poems, told by notifications of which some were told twice and some never reached the model."""
    found = events(read(shared_data, f"claude/moredip-0ccf/{PARENTS['claude/moredip-0ccf']}.jsonl"))
    order = [one for one in kinds(found) if one.startswith("subagent_")]

    assert (
        order
        == ["subagent_started"] * 3 + ["subagent_completed"] * 3 + ["subagent_started"] * 2 + ["subagent_completed"] * 2
    )
    assert [one.name for one in of_kind(found, "subagent_started")][:2] == [
        "Poem about Thai green curry",
        "Poem about Thai yellow curry",
    ]
    assert Counter(one.reason for one in of_kind(found, "error_report")) == {
        "FAILED_TO_OPEN_SOCKET": 5,
        "CONNECTION_REFUSED": 4,
    }


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("happy-task-sidechain", [7, 8]),
        ("kimuson-5c03-sidechain-ja", [35, 7, 15]),
        ("kimuson-fe5e-sidechain-in-file", [43, 21, 86, 98, 65, 135]),
    ],
)
def test_agents_inside_old_logs_are_children(shared_data: Path, name: str, sizes: list[int]) -> None:
    """Each with its chain; the log's own session tells when each began and what it reported."""
    contents = read(shared_data, f"claude/{name}.jsonl")
    main, *children = contents.sessions
    found = [one.event for one in main.rows]

    assert sorted(len(session.rows) for session in children) == sorted(sizes[1:])
    assert len(main.rows) == sizes[0]
    assert [one.session_id for one in of_kind(found, "subagent_started")] == [child.info.id for child in children]
    assert len(of_kind(found, "subagent_completed")) == len(children)


def test_a_resumed_log_is_one_session(shared_data: Path) -> None:
    """Its first rows are another's."""
    contents = read(shared_data, "claude/happy-continue-resumed.jsonl")

    assert kinds(events(contents)) == [
        "foreign_record", "user_message", "session_forked", "assistant_message", "user_message", "tool_call",
        "tool_result", "assistant_message",
    ]  # fmt: skip
    assert contents.sessions[0].info.title == "Casual Chat: Simple Greeting Exchange"


def test_a_forked_log_is_a_session_of_its_own(shared_data: Path) -> None:
    """Even where its copied rows say nothing of it: it begins with its source's rows, under its own name."""
    source = read(shared_data, "derived/claude-forked-parent.jsonl").sessions[0]
    copy = read(shared_data, "derived/claude-forked-copy-new-session-id.jsonl").sessions[0]

    assert source.info.id != copy.info.id
    shared = [one.event.id for one in source.rows if not one.event.HasField("foreign_record")]
    assert [one.event.id for one in copy.rows if one.event.id in set(shared)] == shared


def test_images_come_with_their_bytes(shared_data: Path) -> None:
    """In what a person sent and in what a tool gave back."""
    (sent,) = [
        one
        for one in of_kind(events(read(shared_data, "claude/moredip-images-in-user-messages.jsonl")), "user_message")
        if one.attachments
    ]
    (result,) = of_kind(events(read(shared_data, "claude/moredip-images-in-tool-results.jsonl")), "tool_result")

    assert sent.text == "what's this an image of?"
    for attachment in (sent.attachments[0], result.attachments[0]):
        assert (attachment.media_type, attachment.data[:8]) == ("image/png", b"\x89PNG\r\n\x1a\n")
    assert len(result.attachments[0].data) > 400_000


def test_dirt_is_reported_with_its_line_and_the_rest_is_read(shared_data: Path) -> None:
    """A mark at the beginning, other line ends, a line cut inside a character."""
    bom = read(shared_data, "derived/claude-bom-crlf-cut-in-utf8.jsonl")
    cut = read(shared_data, "derived/claude-truncated-last-line.jsonl")
    edges = read(shared_data, "claude/ccl-edge-cases.jsonl")

    assert (bom.lines, bom.unreadable, len(events(bom))) == (13, 1, 12)
    assert [problem.partition(":")[0] for problem in bom.problems] == ["line 14"]
    assert (cut.lines, cut.unreadable, len(events(cut))) == (31, 1, 30)
    assert [problem.partition(":")[0] for problem in cut.problems] == ["line 31"]
    assert (edges.lines, edges.unreadable) == (19, 3)
    assert [problem.partition(":")[0] for problem in edges.problems] == ["line 13", "line 15", "line 16"]


def test_a_limit_that_was_hit_is_an_error(shared_data: Path) -> None:
    """Written as a reply of a model that does not exist."""
    contents = read(shared_data, "claude/happy-rate-limit.jsonl")

    assert kinds(events(contents)) == ["user_message", "error_report"]
    assert of_kind(events(contents), "error_report")[0].reason == "RATE_LIMIT"
    assert "model" not in contents.sessions[0].info.labels


def test_a_refused_tool_and_an_interrupt(shared_data: Path) -> None:
    """The refusal is the tool's result, the interrupt the turn's end, of which the model is told in words."""
    found = events(read(shared_data, "claude/happy-permission-aborted.jsonl"))

    assert kinds(found) == [
        "user_message", "assistant_message", "tool_call", "tool_result", "system_message", "turn_ended",
    ]  # fmt: skip
    assert (found[3].tool_result.is_error, found[3].tool_result.text) == (True, "Permission prompt was aborted.")


def test_no_message_is_empty(shared_data: Path) -> None:
    """A reader sees messages; one without words or images is none."""
    for path in logs(shared_data):
        said: list[UserMessage | AssistantMessage] = []
        for kind in ("user_message", "assistant_message"):
            said += of_kind(all_events(log(path)), kind)

        assert all(one.text.strip() or one.attachments for one in said), path.name


def test_logs_of_other_programs_are_refused(shared_data: Path) -> None:
    """With the reason; nothing is made up from them."""
    others = [
        path
        for folder in sorted(shared_data.iterdir())
        if folder.is_dir() and folder.name not in ("claude", "derived")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    others += [path for path in (shared_data / "derived").iterdir() if not path.name.startswith("claude-")]
    for path in [*others, shared_data / "manifest.tsv", shared_data / "README.md"]:
        with pytest.raises(NotALog):
            read_log(path)
