"""Both faces of real logs that were compacted, beside a reading of the logs that knows nothing of the importer.

What people were shown is all still there, and the model's context is at any row what the log had told the model by
then: the latest summary and what was written since, without the outputs that the program had cleared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from transcript import Client
from transcript.v1.event_pb2 import Event
from transcript.v1.transcript_service_pb2 import View
from transcript_importers import FileReport, import_claude_code

from .logs import kinds, of_kind

COMPACTED = {
    "entire-2compact-interrupts.jsonl": [156_699, 155_241],
    "spotter-258c": [167_094],
    "entire-microcompact.jsonl": [],
}
"""Logs or folders, and the tokens that stood before each compaction in them."""
CLEARED = "[Old tool result content cleared]"

Said = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """What one line of a log says to each side."""

    prompts: list[str] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    model: list[Said] = field(default_factory=list)
    summary: str | None = None
    """Set where the context was compacted: what the model has instead of all before it."""
    clears: Sequence[str] = ()
    """Calls whose results the model does not see from here on."""


def lines(path: Path) -> Iterator[Line]:
    """A log, line by line."""
    queued: list[str] = []
    for written in path.read_bytes().splitlines():
        value = json.loads(written)
        match value["type"], value.get("operation"):
            case "queue-operation", "enqueue":
                queued.append(value["content"])
                yield Line()
            case "queue-operation", "remove":  # The running turn took in what a person had typed meanwhile.
                text = next(text for text in queued if is_typed(text))
                queued.remove(text)
                yield Line(prompts=[text], model=[("user", text)])
            case "system", _:
                yield Line(clears=value.get("microcompactMetadata", {}).get("compactedToolIds", ()))
            case "user", _ if value.get("isCompactSummary"):
                yield Line(summary=value["message"]["content"])
            case "user" | "assistant" as role, _:
                yield said(role, value, blocks(value["message"]["content"]))
            case _:
                yield Line()


def said(role: str, value: dict[str, Any], content: list[dict[str, Any]]) -> Line:
    """A message of the provider's API."""
    texts = [block["text"] for block in content if block["type"] == "text" and block["text"].strip()]
    told = [text for text in texts if role == "assistant" or (is_typed(text) and not value.get("isMeta"))]
    return Line(
        prompts=told if role == "user" else [],
        replies=told if role == "assistant" else [],
        model=[one for block in content for one in model_side(role, block)],
    )


def model_side(role: str, block: dict[str, Any]) -> Iterator[Said]:
    """What the model has of a block: a text of blanks is nothing."""
    match block["type"]:
        case "text" if block["text"].strip():
            yield role, block["text"]
        case "thinking":
            yield "thinking", block["thinking"], block["signature"]
        case "tool_use":
            yield "call", block["id"], block["name"], json.dumps(block["input"], sort_keys=True)
        case "tool_result":
            text = "\n".join(part["text"] for part in blocks(block["content"]))
            yield "result", block["tool_use_id"], text, str(block.get("is_error", False))


def blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Plain text is one block."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def is_typed(text: str) -> bool:
    """Whether a person wrote it: what the program writes in the user's name has a tag, or stands in brackets."""
    return not text.startswith(("<", "[Request interrupted by user"))


def context(read: Iterable[Line]) -> list[Said]:
    """What the model has after these lines."""
    standing: list[Said] = []
    for line in read:
        if line.summary is not None:
            standing = [("summary", line.summary)]
        standing = [
            (*one[:2], CLEARED, one[3]) if one[0] == "result" and one[1] in line.clears else one for one in standing
        ]
        standing += line.model
    return standing


def as_said(events: Iterable[Event]) -> list[Said]:
    """Rows of the model's context, as the log says the same."""
    return [_as_said(event) for event in events]


def _as_said(event: Event) -> Said:
    match event.WhichOneof("payload"):
        case "user_message" | "system_message" as kind:
            return "user", getattr(event, kind).text
        case "assistant_message":
            return "assistant", event.assistant_message.text
        case "thinking":
            return "thinking", event.thinking.text, event.thinking.signature.decode()
        case "tool_call":
            call = event.tool_call
            return "call", call.call_id, call.name, json.dumps(json.loads(call.arguments_json), sort_keys=True)
        case "tool_result":
            return "result", event.tool_result.call_id, event.tool_result.text, str(event.tool_result.is_error)
        case "compaction_checkpoint":
            return "summary", event.compaction_checkpoint.text
        case kind:
            return (f"not for the model: {kind}",)


@dataclass(frozen=True, slots=True)
class Imported:
    """A log, and the session that it has become."""

    client: Client
    log: list[Line]
    session_id: str

    async def human(self) -> list[Event]:
        """The human transcript whole, from all its pages."""
        pages = [page async for page in self.client.pages(self.session_id, view=View.VIEW_FULL, expand_sections=True)]
        return [event for page in reversed(pages) for event in page.events]

    async def journal(self) -> list[Event]:
        """Every row."""
        return [event async for event in self.client.read_events(self.session_id)]

    async def model(self, sequence: int = 0) -> list[Said]:
        """What the model had once a row had landed; now if 0."""
        return as_said((await self.client.read_context(self.session_id, as_of_sequence=sequence)).events)


async def bring(client: Client, path: Path) -> list[FileReport]:
    """The reports of an import."""
    return [report async for report in import_claude_code(client, [path])]


@pytest.fixture(params=COMPACTED)
async def sessions(request: pytest.FixtureRequest, client: Client, shared_data: Path) -> list[Imported]:
    """One of the logs, imported; those of its agents come after it."""
    reports = await bring(client, shared_data / "claude" / request.param)
    assert [report.error for report in reports] == [""] * len(reports)
    return [Imported(client, list(lines(Path(report.file))), report.session_id) for report in reports]


@pytest.fixture
async def microcompacted(client: Client, shared_data: Path) -> Imported:
    """The log in which the program cleared old outputs."""
    path = shared_data / "claude" / "entire-microcompact.jsonl"
    (report,) = await bring(client, path)
    return Imported(client, list(lines(path)), report.session_id)


async def test_people_read_every_message_that_was_ever_shown_once_and_in_order(sessions: list[Imported]) -> None:
    """Prompts, words put in while the agent worked, replies: those from before a compaction too."""
    for session in sessions:
        messages = [
            event for event in await session.human() if kinds([event])[0] in ("user_message", "assistant_message")
        ]
        shown = [text for _, text in as_said(messages) if is_typed(text)]

        assert shown == [text for line in session.log for text in (*line.prompts, *line.replies)]


async def test_a_compaction_leaves_the_model_the_summary_in_place_of_all_it_had(sessions: list[Imported]) -> None:
    """Before the checkpoint's row there is all since the last one; at that row the summary is alone."""
    main = sessions[0]
    checkpoints = [event.sequence for event in await main.journal() if event.HasField("compaction_checkpoint")]
    compactions = [at for at, line in enumerate(main.log) if line.summary is not None]

    assert len(checkpoints) == len(compactions)
    for sequence, at in zip(checkpoints, compactions, strict=True):
        had = context(main.log[:at])
        assert len(had) > 50
        assert await main.model(sequence - 1) == had
        assert await main.model(sequence) == [("summary", main.log[at].summary)]


async def test_at_every_prompt_the_model_had_what_the_log_had_told_it_by_then(sessions: list[Imported]) -> None:
    """And so at the end: after a compaction the summary, then what was written since."""
    for session in sessions:
        prompted = [at for at, line in enumerate(session.log) if line.prompts]
        rows = [
            event.sequence
            for event in await session.human()
            if event.HasField("user_message") and is_typed(event.user_message.text)
        ]

        assert len(rows) == len(prompted) > 0
        for sequence, at in zip(rows, prompted, strict=True):
            assert await session.model(sequence) == context(session.log[: at + 1])
        assert await session.model() == context(session.log)


async def test_a_compaction_says_how_many_tokens_there_were(
    sessions: list[Imported], request: pytest.FixtureRequest
) -> None:
    """As the log has it, in a bracket that landed and whose checkpoint cites its summary."""
    found = await sessions[0].journal()
    ended = of_kind(found, "compaction_ended")
    expected = COMPACTED[request.node.callspec.params["sessions"]]

    assert [(one.landed, one.tokens_before) for one in ended] == [(True, tokens) for tokens in expected]
    for checkpoint in of_kind(found, "compaction_checkpoint"):
        summary = found[checkpoint.summary_sequence - 1].compaction_summary
        assert (summary.compaction_id, summary.text) == (checkpoint.compaction_id, checkpoint.text)


async def test_outputs_that_were_cleared_have_left_the_model_and_stay_whole_for_people(
    microcompacted: Imported,
) -> None:
    """A word stands in place of each; the calls, their order and all other results are as they were."""
    (cleared,) = [line.clears for line in microcompacted.log if line.clears]
    stored = await microcompacted.journal()
    prunes = [event for event in stored if event.surface.HasField("replace")]
    had = await microcompacted.model(prunes[0].sequence - 1)
    has = await microcompacted.model(prunes[-1].sequence)
    outputs = {one for one in had if one[0] == "result" and one[1] in cleared}
    shown = [event for event in await microcompacted.human() if event.HasField("tool_result")]

    assert len(cleared) == len(prunes) == len(outputs) == 11
    assert sum(len(text) for _, _, text, _ in outputs) > 80_000
    assert [one[:2] for one in has] == [one[:2] for one in had]
    assert {before for before, after in zip(had, has, strict=True) if before != after} == outputs
    assert {one[2] for one in has if one[0] == "result" and one[1] in cleared} == {CLEARED}
    assert as_said(shown) == [one for line in microcompacted.log for one in line.model if one[0] == "result"]


async def test_people_are_told_of_a_microcompaction_in_the_words_of_the_log(microcompacted: Imported) -> None:
    """By a line; the log's own record, with its tokens, is kept beside it, and the replacements are silent."""
    human = await microcompacted.human()
    at = next(at for at, event in enumerate(human) if event.HasField("status"))
    record = json.loads(human[at - 1].foreign_record.json)

    assert human[at].status.text == record["content"] == "Context microcompacted"
    assert record["microcompactMetadata"]["preTokens"] == 58_573
    assert kinds(human[at : at + 2]) == ["status", "thinking"]
    assert human[at + 1].sequence - human[at].sequence == 1 + 11


async def test_a_log_that_grows_past_what_it_compacts_gives_the_same_journal(
    client: Client, shared_data: Path, tmp_path: Path
) -> None:
    """Imported when it ended before, at and after each line that changes the model's context, and again when whole."""
    for name in COMPACTED:
        source = shared_data / "claude" / name
        path = source if source.is_file() else next(source.glob("*.jsonl"))
        written = path.read_bytes().splitlines(keepends=True)
        turns = [at for at, line in enumerate(lines(path)) if line.summary is not None or line.clears]
        part = tmp_path / path.name
        for end in (*(at + more for at in turns for more in (-1, 0, 1)), len(written), len(written)):
            part.write_bytes(b"".join(written[:end]))
            (grown,) = await bring(client, part)
        session = Imported(client, list(lines(path)), grown.session_id)

        assert (grown.error, grown.added) == ("", 0)
        assert (await client.get_session(grown.session_id)).latest_sequence == grown.rows
        assert await session.model() == context(session.log)
