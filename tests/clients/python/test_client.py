"""The client against the real server: what a program that uses it relies on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scripted_server import Proxy
from viewer import filled, replied, said

from transcript import (
    EventIdReused,
    EventNotFound,
    InvalidField,
    SequenceAhead,
    SequenceMismatch,
    SessionExists,
    SessionNotFound,
    connect,
    new_id,
)
from transcript.v1.event_pb2 import Event, TurnEnded, TurnStarted, UserMessage
from transcript.v1.journal_service_pb2 import AppendEventsRequest
from transcript.v1.session_pb2 import Session, SessionKind
from transcript.v1.transcript_service_pb2 import View

if TYPE_CHECKING:
    from transcript import Client


# Sessions


async def test_a_session_is_made_found_changed_and_removed(client: Client) -> None:
    made = await client.create_session(
        "mine", "A title", {"project": "demo"}, SessionKind.SESSION_KIND_AUTOMATED, parent_session_id=""
    )
    assert (made.id, made.title, dict(made.labels)) == ("mine", "A title", {"project": "demo"})
    assert made.kind == SessionKind.SESSION_KIND_AUTOMATED
    assert await client.get_session("mine") == made

    changed = await client.update_session(Session(id="mine", title="Another"), ["title"])
    assert (changed.title, dict(changed.labels)) == ("Another", {"project": "demo"})

    await client.delete_session("mine")
    with pytest.raises(SessionNotFound) as caught:
        await client.get_session("mine")
    assert caught.value.metadata == {"session_id": "mine"}


async def test_making_a_session_again_returns_it(client: Client) -> None:
    first = await client.create_session("mine", "A title")

    assert await client.create_session("mine", "A title") == first
    with pytest.raises(SessionExists):
        await client.create_session("mine", "Another")


async def test_all_sessions_are_listed_over_as_many_pages_as_it_takes(client: Client) -> None:
    made = [await client.create_session(title=f"number {n}", labels={"even": str(n % 2 == 0)}) for n in range(7)]

    listed = [session.id async for session in client.sessions(page_size=2)]
    even = [session.id async for session in client.sessions(labels={"even": "True"}, page_size=1)]

    assert sorted(listed) == sorted(session.id for session in made)
    assert sorted(even) == sorted(session.id for session in made[::2])
    assert [s.title async for s in client.sessions(title_contains="NUMBER 3")] == ["number 3"]


async def test_a_fork_begins_with_the_rows_of_its_source(client: Client) -> None:
    source = await filled(client, 2)

    fork = await client.fork_session(source, through_sequence=4, title="A fork")

    rows = [event async for event in client.read_events(fork.id)]
    assert [event.sequence for event in rows] == [1, 2, 3, 4, 5]
    assert rows[:4] == [event async for event in client.read_events(source, through_sequence=4)]
    assert rows[4].session_forked.session_id == source
    assert (fork.title, fork.forked_from_session_id, fork.forked_from_sequence) == ("A fork", source, 4)


# Appending


async def test_an_append_is_answered_with_sequences_and_ids(client: Client) -> None:
    session = await client.create_session()

    answer = await client.append(session.id, [said("one", "mine"), replied("two")])

    assert list(answer.sequences) == [1, 2]
    assert answer.latest_sequence == 2
    assert answer.event_ids[0] == "mine"
    rows = [event async for event in client.read_events(session.id)]
    assert [event.id for event in rows] == list(answer.event_ids)


async def test_any_iterable_of_events_will_do(client: Client) -> None:
    session = await client.create_session()

    answer = await client.append(session.id, (said(str(n)) for n in range(3)))

    assert list(answer.sequences) == [1, 2, 3]


async def test_an_append_with_the_same_ids_is_recorded_once(client: Client) -> None:
    session = await client.create_session()
    events = [said("one", new_id()), said("two", new_id())]

    first = await client.append(session.id, events)
    again = await client.append(session.id, events, expected_latest_sequence=0)

    assert again == first
    with pytest.raises(EventIdReused):
        await client.append(session.id, [said("other", events[0].id)])


async def test_the_expected_tip_is_checked(client: Client) -> None:
    session = await client.create_session()
    await client.append(session.id, [said("one")], expected_latest_sequence=0)

    with pytest.raises(SequenceMismatch) as caught:
        await client.append(session.id, [said("two")], expected_latest_sequence=0)

    assert caught.value.metadata["latest_sequence"] == "1"


async def test_wrong_fields_are_named(client: Client) -> None:
    session = await client.create_session()

    with pytest.raises(InvalidField) as caught:
        await client.append(session.id, [said("one"), Event(sequence=7, user_message=UserMessage(text="two"))])

    assert any("sequence" in violation.field for violation in caught.value.violations)


async def test_many_batches_go_over_one_stream(client: Client) -> None:
    session = await client.create_session()

    batches = (AppendEventsRequest(session_id=session.id, events=[said(f"{n}"), replied(f"{n}")]) for n in range(100))

    answers = [answer async for answer in client.stream_append(batches)]

    assert [answer.latest_sequence for answer in answers] == list(range(2, 202, 2))
    assert (await client.get_session(session.id)).latest_sequence == 200


async def test_a_stream_of_batches_survives_cut_connections(far: Proxy) -> None:
    async with connect(far.address) as client:
        session = await client.create_session()
        batches = [AppendEventsRequest(session_id=session.id, events=[said(f"{n}")]) for n in range(200)]
        answered = 0
        async for answer in client.stream_append(batches):
            answered += 1
            assert list(answer.sequences) == [answered]
            if answered % 60 == 0:
                far.cut()
        assert answered == 200
        rows = [event.user_message.text async for event in client.read_events(session.id)]

    assert rows == [str(n) for n in range(200)]


async def test_markers_notes_and_resets_land_at_once_between_turns(client: Client) -> None:
    session = await client.create_session()

    marker = await client.add_section_marker(session.id, "First item", collapse_earlier=False, source="me")
    note = await client.add_note(session.id, "a note", event_id="note")
    reset = await client.reset_context(session.id, "enough")

    assert [(one.sequence, one.held) for one in (marker, note, reset)] == [(1, False), (2, False), (3, False)]
    assert note.event_id == "note"
    row = await client.get_event(session.id, 1)
    assert (row.section_marker.label, row.section_marker.source) == ("First item", "me")
    assert not row.section_marker.collapse_earlier


async def test_markers_are_held_while_a_turn_runs(client: Client) -> None:
    session = await client.create_session()
    await client.append(session.id, [said("go"), Event(turn_started=TurnStarted())])

    held = await client.add_section_marker(session.id, "Next item")
    assert (held.sequence, held.held) == (0, True)

    answer = await client.append(session.id, [Event(turn_ended=TurnEnded())])
    assert answer.latest_sequence == 4
    assert (await client.get_event(session.id, 4)).section_marker.label == "Next item"


# Reading


@pytest.mark.parametrize("view", [View.VIEW_FULL, View.VIEW_JOURNAL])
@pytest.mark.parametrize("page_size", [1, 7, 100])
async def test_pages_laid_end_to_end_are_the_whole_view(client: Client, view: View.ValueType, page_size: int) -> None:
    session_id = await filled(client, 8)
    await client.add_section_marker(session_id, "second")
    await client.append(session_id, [said("last"), replied("last")])

    pages = [page async for page in client.pages(session_id, view=view, page_size=page_size)]

    events = [event for page in reversed(pages) for event in page.events]
    assert events == [event async for event in client.read_events(session_id)]


async def test_pages_stay_as_of_the_first_one(client: Client) -> None:
    session_id = await filled(client, 5)
    pages = client.pages(session_id, view=View.VIEW_JOURNAL, page_size=6)

    found = [event.sequence for event in (await anext(pages)).events]
    await client.append(session_id, [said("later")])
    async for page in pages:
        found = [event.sequence for event in page.events] + found

    assert found == list(range(1, 21))


async def test_pages_go_past_the_marker_that_hides_earlier_sections(client: Client) -> None:
    session_id = await filled(client, 3)
    marker = await client.add_section_marker(session_id, "second")
    await client.append(session_id, [said("next"), replied("next")])

    pages = [page async for page in client.pages(session_id)]
    whole = [page async for page in client.pages(session_id, expand_sections=True)]

    assert pages[0].info.oldest_sequence == marker.sequence
    assert pages[0].info.hidden_sections.marker_sequence == marker.sequence
    assert [event for page in reversed(pages) for event in page.events] == [
        event for page in reversed(whole) for event in page.events
    ]


async def test_a_page_may_go_forward(client: Client) -> None:
    session_id = await filled(client, 2)

    page = await client.read_page(session_id, view=View.VIEW_JOURNAL, after_sequence=3, page_size=2)

    assert [event.sequence for event in page.events] == [4, 5]
    assert page.info.has_newer


async def test_rows_are_read_as_they_lie(client: Client) -> None:
    session_id = await filled(client, 3)

    async def read(**options: int) -> list[int]:
        return [event.sequence async for event in client.read_events(session_id, **options)]

    assert await read() == list(range(1, 13))
    assert await read(after_sequence=10) == [11, 12]
    assert await read(after_sequence=2, through_sequence=4) == [3, 4]
    with pytest.raises(SequenceAhead):
        await read(after_sequence=13)
    with pytest.raises(EventNotFound):
        await client.get_event(session_id, 13)


async def test_a_row_of_8_mib_goes_there_and_back(client: Client) -> None:
    session = await client.create_session()
    text = "x" * ((8 << 20) - 1000)
    await client.append(session.id, [said(text)])

    assert (await client.get_event(session.id, 1)).user_message.text == text
    assert [len(event.user_message.text) async for event in client.read_events(session.id)] == [len(text)]
    (row,) = (await client.read_page(session.id)).events
    assert row.elided_bytes > 0


async def test_sections_are_listed_oldest_first(client: Client) -> None:
    session_id = await filled(client, 2)
    for label in ("a", "b", "c"):
        await client.add_section_marker(session_id, label)

    sections = [section async for section in client.sections(session_id, page_size=2)]

    assert [section.marker.label for section in sections] == ["", "a", "b", "c"]
    assert [section.first_sequence for section in sections] == [1, 9, 10, 11]
