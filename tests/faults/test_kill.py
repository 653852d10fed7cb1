"""kill -9: nothing that was answered is lost, nothing is there twice (rules 1, 2, 3 and 9)."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from pathlib import Path

import grpc.aio
import pytest

from transcript.v1.context_service_pb2 import ReadContextRequest
from transcript.v1.event_pb2 import (
    AssistantMessage,
    ContextReset,
    Event,
    Note,
    SectionMarker,
    Status,
    ToolCall,
    TurnEnded,
    TurnStarted,
    UserMessage,
)
from transcript.v1.journal_service_pb2 import AddNoteRequest, AddSectionMarkerRequest, ResetContextRequest
from transcript.v1.transcript_service_pb2 import ReadPageRequest

from .process import Caller, Process, calling

THOROUGH = os.environ.get("TRANSCRIPT_THOROUGH") == "1"
SESSIONS = ("a", "b")
WRITERS = 4


def some_row(rng: random.Random, event_id: str) -> Event:
    """A row of any of the kinds that matter to turns and holding."""
    event = Event(id=event_id)
    match rng.randrange(8):
        case 0:
            event.user_message.CopyFrom(UserMessage(text=event_id))
        case 1:
            event.turn_started.CopyFrom(TurnStarted())
        case 2:
            event.turn_ended.CopyFrom(TurnEnded(outcome=TurnEnded.OUTCOME_COMPLETED))
        case 3:
            event.note.CopyFrom(Note(text=event_id))
        case 4:
            event.section_marker.CopyFrom(SectionMarker(label=event_id))
        case 5:
            event.assistant_message.CopyFrom(AssistantMessage(text=event_id * 200))
        case _:
            event.status.CopyFrom(Status(text=event_id))
    return event


class History:
    """What was sent, and what was answered."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.sent: dict[str, tuple[str, Event]] = {}
        self.answered: dict[str, int] = {}
        self.checked: set[str] = set()

    async def write(self, caller: Caller, name: str, enough: asyncio.Event, until: int) -> None:
        """Appends until the server is gone; says when there were enough answers."""
        for number in range(10_000):
            session_id = self.rng.choice(SESSIONS)
            batch = [some_row(self.rng, f"{name}-{number}-{part}") for part in range(self.rng.randint(1, 4))]
            self.sent.update({event.id: (session_id, event) for event in batch})
            try:
                answer = await caller.append(session_id, *batch)
            except grpc.aio.AioRpcError as error:
                if error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED:
                    for event in batch:
                        del self.sent[event.id]
                    continue
                return
            self.answered.update(zip(answer.event_ids, answer.sequences, strict=True))
            if len(self.answered) >= until:
                enough.set()

    async def check(self, caller: Caller) -> None:
        """Every answered row is where it was said to be; a retry of every other gives it once."""
        ids: dict[str, Counter[str]] = {}
        for session_id in SESSIONS:
            rows = await caller.rows(session_id)
            assert [row.sequence for row in rows] == list(range(1, len(rows) + 1))
            ids[session_id] = Counter(row.id for row in rows)
            assert set(ids[session_id].values()) <= {1}
            places = {row.id: row.sequence for row in rows}
            for event_id, sequence in self.answered.items():
                if self.sent[event_id][0] == session_id and sequence:
                    assert places.get(event_id) == sequence, event_id
        for event_id, (session_id, event) in self.sent.items():
            if self.answered.get(event_id) and event_id in self.checked:
                continue
            before = await caller.session(session_id)
            try:
                answer = await caller.append(session_id, event)
            except grpc.aio.AioRpcError as error:
                refused = error.code()
                expected = (grpc.StatusCode.RESOURCE_EXHAUSTED, False)
                assert (refused, event_id in self.answered) == expected, event_id
                continue
            if event_id in self.answered:
                assert await caller.session(session_id) == before, "an answered row was taken once more"
            self.answered[event_id] = answer.sequences[0]
            self.checked.add(event_id)


async def check_state(caller: Caller) -> None:
    """What the session says of its journal is what its rows say."""
    for session_id in SESSIONS:
        rows = await caller.rows(session_id)
        session = await caller.session(session_id)
        assert session.latest_sequence == len(rows)
        assert session.latest_turn == (rows[-1].turn if rows else 0)
        messages = [row for row in rows if row.WhichOneof("payload") in {"user_message", "assistant_message"}]
        assert session.message_count == len(messages)
        bounds = [row for row in rows if row.WhichOneof("payload") in {"turn_started", "turn_ended"}]
        assert session.running == (bool(bounds) and bounds[-1].HasField("turn_started"))
        assert session.running or session.held_row_count == 0


async def kill_again_and_again(folder: Path, cycles: int) -> None:
    """Writers at work, a kill, a restart, and a look at everything that was answered."""
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    history = History(rng)
    try:
        for cycle in range(cycles):
            async with Process(folder / "data") as server, calling(server.address) as caller:
                for session_id in SESSIONS:
                    await caller.create(session_id)
                if cycle:
                    await check_state(caller)
                    await history.check(caller)
                    await check_state(caller)
                enough = asyncio.Event()
                until = len(history.answered) + rng.randint(1, 120)
                writers = [
                    asyncio.ensure_future(history.write(caller, f"{cycle}-{writer}", enough, until))
                    for writer in range(WRITERS)
                ]
                await asyncio.wait_for(enough.wait(), 30)
                server.kill()
                await asyncio.gather(*writers)
                await server.gone()
        async with Process(folder / "data") as server, calling(server.address) as caller:
            await check_state(caller)
            await history.check(caller)
    except BaseException:
        print(f"seed {seed}")  # noqa: T201 - to try the same again
        raise


async def test_rules_1_to_3_no_answered_row_is_lost_by_kill_9(tmp_path: Path):
    """Five times."""
    await kill_again_and_again(tmp_path, 5)


@pytest.mark.thorough
@pytest.mark.timeout(1200)
async def test_rules_1_to_3_no_answered_row_is_lost_by_kill_9_fifty_times(tmp_path: Path):
    """The full count."""
    await kill_again_and_again(tmp_path, 50)


async def test_rule_9_held_rows_outlive_a_kill_and_a_restart(tmp_path: Path):
    """Brought by four RPCs, killed between any two; the eleventh is still the eleventh, and all land in order."""
    event_ids = [f"h{number}" for number in range(10)]
    for number, event_id in enumerate(event_ids):
        async with Process(tmp_path / "data") as server, calling(server.address) as caller:
            await caller.create("a")
            if number == 0:
                await caller.append("a", Event(user_message=UserMessage(text="p")), Event(turn_started=TurnStarted()))
            assert (await caller.session("a")).held_row_count == number
            journal = caller.journal
            kept = ("AddSectionMarker", "AddNote", "ResetContext", "AppendEvents")[number % 4]
            if kept == "AddSectionMarker":
                await journal.AddSectionMarker(AddSectionMarkerRequest(session_id="a", label="m", event_id=event_id))
            elif kept == "AddNote":
                await journal.AddNote(AddNoteRequest(session_id="a", note=Note(text="n"), event_id=event_id))
            elif kept == "ResetContext":
                await journal.ResetContext(ResetContextRequest(session_id="a", event_id=event_id))
            else:
                assert (await caller.append("a", Event(id=event_id, note=Note(text="n")))).sequences == [0]
            server.kill()
            await server.gone()
    async with Process(tmp_path / "data") as server, calling(server.address) as caller:
        session = await caller.session("a")
        assert (session.running, session.held_row_count, session.latest_sequence) == (True, 10, 2)
        with pytest.raises(grpc.aio.AioRpcError, match="RESOURCE_EXHAUSTED"):
            await caller.append("a", Event(context_reset=ContextReset()))
        again = await caller.journal.AddNote(AddNoteRequest(session_id="a", note=Note(text="n"), event_id="h1"))
        assert (again.sequence, again.held) == (0, True)
        await caller.append("a", Event(turn_ended=TurnEnded()))
        server.kill()
        await server.gone()
    async with Process(tmp_path / "data") as server, calling(server.address) as caller:
        rows = await caller.rows("a")
        assert [row.id for row in rows[3:]] == event_ids
        assert (await caller.session("a")).held_row_count == 0


async def test_rule_8_a_crashed_turn_its_held_marker_and_its_next_prompt(tmp_path: Path):
    """The agent and the server die in a turn; the next prompt ends it, lets the marker go, and begins its own turn."""
    prompt, started = Event(user_message=UserMessage(text="p")), Event(turn_started=TurnStarted())
    call = Event(tool_call=ToolCall(call_id="c", name="run", arguments_json="{}"))
    async with Process(tmp_path / "data") as server, calling(server.address) as caller:
        await caller.create("a")
        await caller.append("a", prompt, started, call)
        marker = await caller.journal.AddSectionMarker(AddSectionMarkerRequest(session_id="a", label="next item"))
        assert (marker.sequence, marker.held) == (0, True)
        server.kill()
        await server.gone()
    async with Process(tmp_path / "data") as server, calling(server.address) as caller:
        # Nothing tells yet that the turn will not go on.
        before = await caller.session("a")
        assert (before.running, before.latest_turn, before.held_row_count) == (True, 1, 1)

        answer = await caller.append("a", Event(user_message=UserMessage(text="again")), started)

        assert (list(answer.sequences), answer.latest_sequence) == ([6, 7], 7)
        rows = await caller.rows("a")
        assert [(row.WhichOneof("payload"), row.turn) for row in rows] == [
            ("user_message", 1),
            ("turn_started", 1),
            ("tool_call", 1),
            ("turn_ended", 1),
            ("section_marker", 1),
            ("user_message", 2),
            ("turn_started", 2),
        ]
        assert rows[3].turn_ended.outcome == TurnEnded.OUTCOME_INTERRUPTED
        assert (rows[4].id, rows[4].section_marker.label) == (marker.event_id, "next item")
        after = await caller.session("a")
        assert (after.running, after.latest_turn, after.held_row_count) == (True, 2, 0)
        # The new turn makes the marker collapse what lies before it; the model still has the call that never ended.
        page = [part async for part in caller.transcript.ReadPage(ReadPageRequest(session_id="a"))]
        assert (page[0].page.hidden_sections.marker_sequence, page[0].page.oldest_sequence) == (5, 5)
        context = [part async for part in caller.context.ReadContext(ReadContextRequest(session_id="a"))]
        assert [row.sequence for part in context for row in part.events] == [1, 3, 6]


async def test_rule_8_a_deadline_outlives_a_kill(tmp_path: Path):
    """It is stored: the server that starts after it interrupts."""
    async with Process(tmp_path / "data") as server, calling(server.address) as caller:
        await caller.create("a")
        started = TurnStarted()
        started.idle_timeout.FromMilliseconds(50)
        await caller.append("a", Event(user_message=UserMessage(text="p")), Event(turn_started=started))
        server.kill()
        await server.gone()
    async with Process(tmp_path / "data") as server, calling(server.address) as caller:
        session = await caller.session("a")
        assert (session.running, session.latest_sequence) == (False, 3)
        last = (await caller.rows("a"))[-1]
        assert last.turn_ended.outcome == TurnEnded.OUTCOME_INTERRUPTED
