"""Assistant rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from transcript.v1.event_pb2 import AssistantMessage, ErrorReport, Thinking, TokenUsage, ToolCall

from .logs import calls, events, gave, kinds, of_kind, read, reply, row, said, typed


def usage(read_tokens: int, written: int, cached: int = 0) -> dict:
    """What a provider reports, as the log has it."""
    return {"input_tokens": read_tokens, "output_tokens": written, "cache_read_input_tokens": cached}


def test_each_block_of_a_reply_is_a_row_wherever_the_log_put_it(tmp_path: Path) -> None:
    """A reply stands in the log as several rows, or as one with several blocks."""
    thought = {"type": "thinking", "thinking": "Let me see.", "signature": "c2ln"}
    spread = [
        reply(thought, message_id="m1"),
        reply(said("I look."), message_id="m1"),
        reply(calls("t1", "Bash", command="ls", description="list"), message_id="m1"),
    ]
    together = reply(thought, said("I look."), calls("t1", "Bash", command="ls", description="list"))

    for log in (spread, [together]):
        found = events(read(tmp_path, *log))
        assert kinds(found) == ["thinking", "assistant_message", "tool_call"]
        assert found[0].thinking == Thinking(text="Let me see.", signature=b"c2ln")
        assert found[1].assistant_message == AssistantMessage(text="I look.", model="claude-test-1")
        assert found[2].tool_call == ToolCall(
            call_id="t1", name="Bash", arguments_json='{"command": "ls", "description": "list"}'
        )


def test_an_id_is_the_rows_uuid_and_the_blocks_place(tmp_path: Path) -> None:
    """So that it can be found in the log again, and never depends on what else was read."""
    log = reply(said("One."), said("Two."))

    assert [event.id for event in events(read(tmp_path, log))] == [f"{log['uuid']}:0", f"{log['uuid']}:1"]


def test_a_row_has_the_time_that_the_log_gives_and_none_if_it_gives_none(tmp_path: Path) -> None:
    """An unreadable time is said; the row is kept."""
    log = [
        reply(said("One."), timestamp="2026-01-02T03:04:05.678Z"),
        reply(said("Two."), timestamp=""),
        reply(said("Three."), timestamp="yesterday"),
    ]
    contents = read(tmp_path, *log)
    first, second, third = events(contents)

    assert first.time.ToJsonString() == "2026-01-02T03:04:05.678Z"
    assert (second.HasField("time"), third.HasField("time")) == (False, False)
    assert contents.problems == ("line 3: its timestamp is none",)


def test_a_replys_tokens_are_counted_once(tmp_path: Path) -> None:
    """Every row of a reply repeats them."""
    tokens = usage(5, 20, cached=100)
    log = [
        reply(said("One."), message_id="m1", usage=tokens),
        reply(said("Two."), message_id="m1", usage=tokens),
        reply(said("Three."), message_id="m2", usage=tokens),
    ]
    found = of_kind(events(read(tmp_path, *log)), "assistant_message")

    expected = TokenUsage(input_tokens=105, output_tokens=20, cached_input_tokens=100)
    assert [message.usage for message in found] == [expected, TokenUsage(), expected]


def test_tokens_of_replies_without_text_are_reported_by_the_next_message(tmp_path: Path) -> None:
    """Most replies of a working agent only call tools. And a reply's first row is written before all is counted."""
    log = [
        reply(said("I look."), message_id="m1", usage=usage(10, 1)),
        reply(calls("t1"), message_id="m1", usage=usage(10, 50)),
        gave("t1"),
        reply(calls("t2"), message_id="m2", usage=usage(70, 7)),
        gave("t2"),
        reply(said("Done."), message_id="m3", usage=usage(90, 3)),
    ]
    found = of_kind(events(read(tmp_path, *log)), "assistant_message")

    assert [message.usage for message in found] == [
        TokenUsage(input_tokens=10, output_tokens=1),
        TokenUsage(input_tokens=160, output_tokens=59),
    ]


def test_a_reply_written_down_twice_is_read_once(tmp_path: Path) -> None:
    """A resume copies rows under new uuids; the message.id and what it says are the same."""
    log = [
        reply(said("lol"), message_id="m1"),
        reply(said("lol"), message_id="m1", requestId=None),
        reply(said("lol"), message_id="m2"),
    ]

    assert [event.id for event in events(read(tmp_path, *log))] == [f"{log[0]['uuid']}:0", f"{log[2]['uuid']}:0"]


def test_a_row_written_down_twice_is_read_once(tmp_path: Path) -> None:
    """Also if the copy hangs elsewhere in the tree; another row under the same uuid is another row."""
    log = reply(said("Hello."))
    copy = {**log, "parentUuid": "elsewhere", "timestamp": "2026-02-02T00:00:00.000Z"}
    other = {**log, "message": {**log["message"], "content": [said("Bye.")]}}

    assert [event.id for event in events(read(tmp_path, log, copy, other))] == [
        f"{log['uuid']}:0",
        f"{log['uuid']}~2:0",
    ]


def test_a_text_of_line_ends_alone_is_no_message(tmp_path: Path) -> None:
    """Newer models often begin with one; a reader would see an empty message. It is kept as it is."""
    log = reply(said("\n\n"))
    found = events(read(tmp_path, log))

    assert kinds(found) == ["foreign_record"]
    assert json.loads(found[0].foreign_record.json) == log


def test_hidden_reasoning_keeps_the_providers_proof(tmp_path: Path) -> None:
    """It goes back to the provider unchanged."""
    log = reply(
        {"type": "redacted_thinking", "data": "b3BhcXVl"}, {"type": "thinking", "thinking": "", "signature": "x"}
    )

    assert of_kind(events(read(tmp_path, log)), "thinking") == [
        Thinking(signature=b"b3BhcXVl"),
        Thinking(signature=b"x"),
    ]


def test_the_providers_own_tools_are_calls_and_results_too(tmp_path: Path) -> None:
    """A web search runs at the provider; both blocks stand in the reply."""
    log = reply(
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "curry"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": [{"type": "web_search_result", "title": "A"}],
        },
    )
    call, result = events(read(tmp_path, log))

    assert (call.tool_call.name, result.tool_result.call_id) == ("web_search", "s1")
    assert '"title":"A"' in result.tool_result.text


def test_a_block_that_no_kind_can_say_is_kept_as_it_is(tmp_path: Path) -> None:
    """The rest of its row is read."""
    block = {"type": "hologram", "depth": 3}
    found = events(read(tmp_path, reply(said("Look:"), block)))

    assert kinds(found) == ["assistant_message", "foreign_record"]
    assert found[1].foreign_record.type == "assistant/hologram"
    assert json.loads(found[1].foreign_record.json) == block


def test_a_failure_written_as_a_reply_is_an_error(tmp_path: Path) -> None:
    """Nobody said it: the agent program writes it in the model's place."""
    log = reply(
        said("You've hit your limit"), isApiErrorMessage=True, error="rate_limit", apiErrorStatus=429, usage=usage(0, 0)
    )

    assert of_kind(events(read(tmp_path, log)), "error_report") == [
        ErrorReport(reason="RATE_LIMIT", message="You've hit your limit")
    ]


@pytest.mark.parametrize(
    ("fields", "reason", "message"),
    [
        (
            {"error": {"cause": {"code": "FailedToOpenSocket"}}, "retryAttempt": 1, "maxRetries": 10, "retryInMs": 530},
            "FAILED_TO_OPEN_SOCKET",
            "FailedToOpenSocket; attempt 1 of 10 follows in 0.5 s",
        ),
        (
            {"error": {"status": 529, "message": "Overloaded", "error": {"error": {"type": "overloaded_error"}}}},
            "OVERLOADED_ERROR",
            "Overloaded (HTTP 529)",
        ),
        ({"error": {"status": 500}}, "HTTP_500", "The request to the provider failed (HTTP 500)"),
        ({}, "API_ERROR", "The request to the provider failed"),
    ],
)
def test_a_request_that_failed_is_an_error(tmp_path: Path, fields: dict, reason: str, message: str) -> None:
    """With a reason for programs and a line for people."""
    found = events(read(tmp_path, row("system", subtype="api_error", **fields)))

    assert of_kind(found, "error_report") == [ErrorReport(reason=reason, message=message)]


def test_half_a_surrogate_pair_becomes_a_replacement_character(tmp_path: Path) -> None:
    """Rows are UTF-8."""
    log = json.dumps(reply(said("x"), calls("t1", q="x"))).replace('"x"', r'"a\ud800b"')
    message, call = events(read(tmp_path, log))

    assert message.assistant_message.text == "a\N{REPLACEMENT CHARACTER}b"
    assert json.loads(call.tool_call.arguments_json) == {"q": "a\N{REPLACEMENT CHARACTER}b"}


def test_a_row_of_another_shape_than_expected_is_kept_as_it_is(tmp_path: Path) -> None:
    """Whatever stands in the fields, nothing is lost and nothing breaks."""
    odd = [
        row("assistant"),
        row("assistant", message="text"),
        row("assistant", message={"content": 7, "usage": [1]}),
        row("user", message={"content": None}),
        row("user", message={"content": []}),
        row("system", subtype=["compact_boundary"]),
        row("attachment", attachment="text"),
        row("progress", data=[]),
        row(""),
        {"silly": "this"},
    ]
    contents = read(tmp_path, typed("Hello."), *odd)

    assert kinds(events(contents)) == ["user_message", *["foreign_record"] * len(odd)]
    assert [json.loads(one.json) for one in of_kind(events(contents), "foreign_record")] == odd
