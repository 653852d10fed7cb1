"""Reading a session part by part: parts of two journals are never put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from transcript import Client, JournalChanged
from transcript.v1.event_pb2 import Event, UserMessage
from transcript.v1.transcript_service_pb2 import View
from transcript_terminal.selecting import Part, Reader


async def made(client: Client, count: int) -> None:
    """The session with *count* turns of one row; in the place of one that was there."""
    await client.create_session("s")
    await client.append("s", [Event(user_message=UserMessage(text=f"row {n}")) for n in range(count)])


async def reader_of(client: Client) -> Reader:
    await made(client, 6)
    return Reader(client=client, session=await client.get_session("s"), view=View.VIEW_FULL, page_size=2)


@pytest.mark.parametrize("length", [1, 3, 9], ids=["shorter", "a little shorter", "longer"])
async def test_all_ends_where_the_session_was_made_anew(client: Client, length: int) -> None:
    parts = (await reader_of(client)).all()
    assert [event.sequence for event in (await anext(parts)).events] == [1, 2]
    await client.delete_session("s")
    await made(client, length)

    with pytest.raises(JournalChanged):
        await anext(parts)


@pytest.mark.parametrize("length", [1, 9], ids=["shorter", "longer"])
@pytest.mark.parametrize(
    "read",
    [lambda reader: reader.newest(), lambda reader: reader.around(4), lambda reader: reader.turn(5)],
    ids=["newest", "around", "turn"],
)
async def test_no_part_is_of_another_journal_than_the_session_that_was_found(
    client: Client, length: int, read: Callable[[Reader], AsyncIterator[Part]]
) -> None:
    reader = await reader_of(client)
    await client.delete_session("s")
    await made(client, length)

    with pytest.raises(JournalChanged):
        await anext(read(reader))


async def test_all_is_every_row_of_a_journal_that_stays(client: Client) -> None:
    reader = await reader_of(client)

    assert [event.sequence async for part in reader.all() for event in part.events] == [1, 2, 3, 4, 5, 6]
