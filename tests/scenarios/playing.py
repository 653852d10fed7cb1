"""Plays a scenario on a server, step by step, and keeps what everybody was given after each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from transcript import Client, TranscriptError
from transcript.v1.event_pb2 import Event
from transcript.v1.journal_service_pb2 import (
    AddNoteRequest,
    AddSectionMarkerRequest,
    AppendEventsRequest,
    ResetContextRequest,
)

from .reading import Seen, recall, see
from .scenario import CONTEXTS, VIEWS, Call, Scenario, Step

SESSION = "scenario"
FORK = "fork"


@dataclass(frozen=True, slots=True)
class Moment:
    """What everybody was given of a session once a step was done."""

    session_id: str
    tip: int  # the journal's last row
    running: bool  # a turn runs
    seen: dict[str, Seen]
    context: dict[str, list[Event]]


async def play(client: Client, scenario: Scenario) -> AsyncIterator[Moment]:
    """Plays the scenario: the moment of the empty session first, then that after each step.

    The session is called `scenario`; once it is forked, what follows is of `fork`.

    Raises:
        AssertionError: A step was refused that should be taken, or taken, or refused otherwise; or one
            that was refused changed something.
    """
    await client.create_session(SESSION)
    moment = await _look(client, SESSION)
    yield moment
    for number, step in enumerate(scenario.steps, 1):
        session_id = await _take(client, moment.session_id, step, f"step {number}")
        last, moment = moment, await _look(client, session_id)
        assert not step.refused or moment == last, f"step {number} was refused and changed something"
        yield moment


async def _take(client: Client, session_id: str, step: Step, name: str) -> str:
    """Makes the step's call; returns the session that the next one is for."""
    refused = ""
    try:
        session_id = await _call(client, session_id, step.call)
    except TranscriptError as error:
        refused = error.reason_name
        if refused != step.refused:
            raise AssertionError(f"{name} was refused: {error}") from error
    assert refused == step.refused, f"{name} was taken, not refused with {step.refused}"
    return session_id


async def _call(client: Client, session_id: str, call: Call) -> str:
    match call:
        case AppendEventsRequest():
            expected = call.expected_latest_sequence if call.HasField("expected_latest_sequence") else None
            await client.append(
                session_id, call.events, expected_latest_sequence=expected, as_recorded=call.as_recorded
            )
        case AddSectionMarkerRequest():
            collapse = call.collapse_earlier if call.HasField("collapse_earlier") else None
            await client.add_section_marker(
                session_id, call.label, collapse_earlier=collapse, source=call.source, event_id=call.event_id
            )
        case AddNoteRequest():
            await client.add_note(session_id, call.note.text, source=call.note.source)
        case ResetContextRequest():
            await client.reset_context(session_id, call.reason, event_id=call.event_id)
        case _:
            fork = await client.fork_session(session_id, through_sequence=call.through_sequence, id=FORK)
            return fork.id
    return session_id


async def _look(client: Client, session_id: str) -> Moment:
    session = await client.get_session(session_id)
    return Moment(
        session_id=session_id,
        tip=session.latest_sequence,
        running=session.running,
        seen={way: await see(client, session_id, way) for way in VIEWS},
        context={way: await recall(client, session_id, way) for way in CONTEXTS},
    )
