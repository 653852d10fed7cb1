"""How rows travel: message size, and what is left out of large rows (rule 20)."""

from __future__ import annotations

import grpc
import pytest

from transcript.v1.event_pb2 import Attachment, Event, HumanRequest, ToolResult, UserMessage
from transcript.v1.session_service_pb2 import ListSessionsRequest, ListSessionsResponse
from transcript.v1.transcript_service_pb2 import (
    VIEW_COMPACT,
    VIEW_FULL,
    VIEW_JOURNAL,
    GetEventRequest,
    ListSectionsRequest,
    ListSectionsResponse,
)

from .rows import checkpoint, marker, reply, result, status, user
from .served import FIELD_CUT_TO, MESSAGE_LIMIT, ROW_ELIDED_ABOVE, served, whole
from .watching import watch
from .wire import TRANSCRIPT, Wire, bytes_of, checked


def with_attachments(text: str, *sizes: int) -> Event:
    """A message that carries files of these sizes, and one that lies elsewhere."""
    files = [Attachment(media_type="image/png", name=f"{n}.png", data=b"\x00\xff" * (n // 2)) for n in sizes]
    return Event(user_message=UserMessage(text=text, attachments=[*files, Attachment(uri="https://example.org/x")]))


LARGE = {
    "text alone": user("x" * (70 << 10)),
    "at a character boundary": user("a" + "é" * (40 << 10)),
    "of four bytes": result(text="ab" + "\U0001f600" * (20 << 10)),
    "attachments alone": with_attachments("short", 100 << 10, 10),
    "both": with_attachments("y" * (20 << 10), 60 << 10),
    "text that is short enough stays": with_attachments("z" * FIELD_CUT_TO, 60 << 10),
    "one byte more does not": with_attachments("z" * (FIELD_CUT_TO + 1), 60 << 10),
    "a tool result with files": Event(
        tool_result=ToolResult(call_id="c", text="t" * 5000, attachments=[Attachment(data=b"d" * (1 << 20))])
    ),
}


@pytest.mark.parametrize("name", LARGE)
async def test_rule_20_a_row_over_64_kib_is_paged_and_watched_cut(wire: Wire, name):
    """Elidable fields to 16 KiB, attachment data not at all, and elided_bytes says how much is missing."""
    await wire.create("s")
    row = LARGE[name]
    await wire.append("s", user(), row)
    (stored,) = await wire.rows("s", after=1)
    assert stored.ByteSize() > ROW_ELIDED_ABOVE
    expected = served(stored, VIEW_FULL)
    assert expected.elided_bytes > 0
    assert expected.ByteSize() < ROW_ELIDED_ABOVE
    for view in (VIEW_COMPACT, VIEW_FULL):
        assert bytes_of((await wire.page("s", view=view)).rows[1:]) == bytes_of([expected])
        assert bytes_of((await wire.page("s", view=view, after_sequence=1)).rows) == bytes_of([expected])
        async with watch(wire, "s", view=view) as opened, watch(wire, "s", view=view, after_sequence=1) as resumed:
            await opened.reaches(2)
            await resumed.reaches(2)
        assert bytes_of(opened.rows[1:]) == bytes_of(resumed.rows) == bytes_of([expected])


@pytest.mark.parametrize("name", LARGE)
async def test_rule_20_it_is_whole_where_it_must_be(wire: Wire, name):
    """GetEvent, the journal view, ReadEvents and ReadContext."""
    await wire.create("s")
    row = LARGE[name]
    async with watch(wire, "s", view=VIEW_JOURNAL) as watcher:
        await wire.append("s", row)
        await watcher.reaches(1)
    (stored,) = await wire.rows("s")
    assert stored.elided_bytes == 0
    assert stored.WhichOneof("payload") == row.WhichOneof("payload")
    assert stored.user_message == row.user_message
    assert stored.tool_result == row.tool_result
    got = (await wire.transcript.GetEvent(GetEventRequest(session_id="s", sequence=1))).event
    journal = (await wire.page("s", view=VIEW_JOURNAL)).rows
    context = await wire.surface("s")
    assert bytes_of([stored]) == bytes_of([got]) == bytes_of(journal) == bytes_of(context) == bytes_of(watcher.rows)


async def test_rule_20_a_row_of_64_kib_is_not_cut(wire: Wire):
    """One byte more, and it is: the limit is on the row as stored."""
    await wire.create("s")
    await wire.append("s", user("x", id="00"))
    probe = (await wire.rows("s"))[0].ByteSize()
    room = ROW_ELIDED_ABOVE - probe
    for attempt in range(2):
        size = room + attempt
        for _ in range(8):
            answer = await wire.append("s", user("x" * size))
            stored = (await wire.rows("s", after=answer.latest_sequence - 1))[0]
            if stored.ByteSize() == ROW_ELIDED_ABOVE + attempt:
                break
            size += ROW_ELIDED_ABOVE + attempt - stored.ByteSize()
        assert stored.ByteSize() == ROW_ELIDED_ABOVE + attempt
        page = await wire.page("s", view=VIEW_FULL, page_size=1)
        assert bool(page.rows[0].elided_bytes) == bool(attempt)
        assert bytes_of(page.rows) == bytes_of([served(stored, VIEW_FULL)])


async def test_rule_20_what_may_not_be_cut_is_served_whole(wire: Wire):
    """A row that is large by other fields stays large, and says nothing of bytes left out."""
    await wire.create("s")
    row = Event(human_request=HumanRequest(request_id="q", options=["x" * (16 << 10)] * 20, prompt="May I?"))
    await wire.append("s", row, user())
    page = await wire.page("s", view=VIEW_FULL)
    assert (page.rows[0].elided_bytes, page.rows[0].human_request) == (0, row.human_request)
    assert len(page.rows) == 2


async def test_rule_20_a_checkpoints_text_counts_for_nothing(wire: Wire):
    """It is empty for people whatever its size, and elided_bytes does not speak of it."""
    await wire.create("s")
    large = checkpoint(1, 1)
    large.compaction_checkpoint.text = "c" * (200 << 10)
    await wire.append("s", user(), large)
    (stored,) = await wire.rows("s", after=1)
    assert len(stored.compaction_checkpoint.text) == 200 << 10
    got = (await wire.transcript.GetEvent(GetEventRequest(session_id="s", sequence=2))).event
    for row in (got, (await wire.page("s")).rows[1], (await wire.page("s", view=VIEW_FULL)).rows[1]):
        assert (row.compaction_checkpoint.text, row.elided_bytes) == ("", 0)
        assert bytes_of([row]) == bytes_of([whole(stored)])
    assert [len(row.compaction_checkpoint.text) for row in await wire.surface("s")] == [200 << 10]


@pytest.mark.parametrize("view", [VIEW_COMPACT, VIEW_FULL, VIEW_JOURNAL])
async def test_rule_20_a_response_message_stays_under_256_kib(wire: Wire, view):
    """Pages, watches, rows and context: each message is checked as it comes; only a single row may be more."""
    await wire.create("s")
    sizes = [10, 60_000, 60_000, 60_000, 60_000, 60_000, 3, 200_000, 300_000, 5, 1 << 20, 40_000]
    for number, size in enumerate(sizes):
        text = "x" * size
        await wire.append("s", user(text) if number == 0 else reply(text))
    page = await wire.page("s", view=view)
    assert len(page.rows) == len(sizes)
    assert all(len(message) < MESSAGE_LIMIT for message in page.messages) == (view != VIEW_JOURNAL)
    assert len(page.messages) > 1
    assert len(await wire.rows("s")) == len(sizes)
    await wire.expect_surface("s", list(range(1, len(sizes) + 1)))
    async with watch(wire, "s", view=view, after_sequence=0) as watcher:
        await watcher.reaches(len(sizes))
    assert bytes_of(watcher.rows) == bytes_of(page.rows)


async def test_rule_20_small_rows_are_packed_and_not_sent_one_by_one(wire: Wire):
    """A thousand short rows take few messages."""
    await wire.create("s")
    await wire.append("s", *(status(f"{n}") for n in range(1000)))
    page = await wire.page("s", view=VIEW_FULL, page_size=1000)
    assert len(page.rows) == 1000
    assert len(page.messages) <= 4


async def test_rule_20_a_row_may_have_8_mib(wire: Wire):
    """It comes whole to a client whose limit is above that, and cut to one with gRPC's default."""
    await wire.create("s")
    text = "x" * ((8 << 20) - 200)
    await wire.append("s", user(), reply(text))
    assert (await wire.rows("s", after=1))[0].assistant_message.text == text
    assert len((await wire.page("s")).rows[1].assistant_message.text) == FIELD_CUT_TO
    failure = await wire.refused("s", reply("x" * ((8 << 20) + 1)))
    assert (failure.code, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "ROW_TOO_LARGE")
    assert int(failure.metadata["size"]) > int(failure.metadata["limit"]) == 8 << 20


async def test_rule_20_every_message_is_the_bytes_of_its_parsed_message(wire: Wire):
    """Nothing is written twice or in another order: parsed and written again it is the same."""
    await wire.create("s", labels={"a": "b"})
    await wire.append("s", user("x" * 70_000), with_attachments("y", 70_000), checkpoint(1, 2), reply())
    assert (await wire.page("s", view=VIEW_JOURNAL)).messages
    assert (await wire.page("s")).messages
    await wire.expect_surface("s", [3, 4])
    assert await wire.rows("s")
    async with watch(wire, "s") as watcher:
        await watcher.reaches(4)


async def test_rule_20_a_long_list_of_sections_ends_early_and_goes_on(wire: Wire):
    """A thousand sections with labels of 480 bytes."""
    await wire.create("s")
    await wire.append("s", *(marker("\U0001f600" * 120) for _ in range(1000)))
    sections, token = 0, ""
    while sections == 0 or token:
        request = ListSectionsRequest(session_id="s", page_size=1000, page_token=token)
        answer = checked(ListSectionsResponse, await wire.raw_unary(TRANSCRIPT + "ListSections", request))
        sections, token = sections + len(answer.sections), answer.next_page_token
    assert sections == 1000


async def test_rule_20_a_long_list_of_sessions_ends_early_and_goes_on(wire: Wire):
    """Forty sessions with 16 KiB of labels each, listed and watched."""
    ids = {f"s{number}" for number in range(40)}
    for session_id in ids:
        await wire.create(session_id, labels={f"{n}": "v" * 250 for n in range(64)})
    async with watch(wire, "s0", include_sessions=True) as watcher:
        await watcher.until(lambda: {session.id for session in watcher.sessions} == ids)
    seen: list[str] = []
    token = ""
    while not seen or token:
        request = ListSessionsRequest(page_size=1000, page_token=token)
        raw = await wire.raw_unary("/transcript.v1.SessionService/ListSessions", request)
        answer = ListSessionsResponse.FromString(raw)
        seen, token = seen + [session.id for session in answer.sessions], answer.next_page_token
        assert len(raw) < MESSAGE_LIMIT
    assert sorted(seen) == sorted(ids)
