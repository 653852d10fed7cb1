"""What a watch does when a server misbehaves: it goes on where it stood, or begins anew, and never skips a row."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from typing import TYPE_CHECKING

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_server import (
    HANG,
    UNAVAILABLE,
    Fail,
    caught_up,
    page,
    rows,
    sequences_of,
    until,
)

from transcript import (
    Internal,
    JournalChanged,
    PermissionDenied,
    ResourceExhausted,
    SequenceAhead,
    SessionNotFound,
    Unavailable,
    connect,
)
from transcript.v1.session_pb2 import Session
from transcript.v1.transcript_service_pb2 import HiddenSections, View, WatchRequest, WatchResponse
from transcript.watching import STALLS, Place

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from scripted_server import Proxy, ScriptedServer, Step

    from transcript import Client, TranscriptError

DRAINING = Fail(grpc.StatusCode.UNAVAILABLE, "DRAINING")
CHANGED = Fail(grpc.StatusCode.FAILED_PRECONDITION, "JOURNAL_CHANGED", metadata={"journal_id": "j2"})
AHEAD = Fail(grpc.StatusCode.OUT_OF_RANGE, "SEQUENCE_AHEAD")
GONE = Fail(grpc.StatusCode.NOT_FOUND, "SESSION_NOT_FOUND", metadata={"session_id": "s"})


async def taken(watching: AsyncGenerator[WatchResponse, None], count: int) -> list[WatchResponse]:
    """The first *count* messages, and the watch closed."""
    async with aclosing(watching):
        return [await anext(watching) for _ in range(count)]


async def goes_on(watching: AsyncGenerator[WatchResponse, None], condition: Callable[[], object]) -> None:
    """Let a watch go on, without a message, until *condition* holds."""
    waiting = asyncio.create_task(anext(watching))
    await until(condition)
    waiting.cancel()
    await asyncio.wait([waiting])


def asked(scripted: ScriptedServer) -> list[tuple[int | None, str]]:
    """Where each call began: after which row, of which journal."""
    return [
        (request.after_sequence if request.HasField("after_sequence") else None, request.journal_id)
        for request in scripted.requests["Watch"]
    ]


# Where it goes on


@pytest.mark.parametrize(
    "end",
    [
        UNAVAILABLE,
        DRAINING,
        Fail(grpc.StatusCode.INTERNAL),
        Fail(grpc.StatusCode.UNKNOWN),
        Fail(grpc.StatusCode.CANCELLED),
        Fail(grpc.StatusCode.DEADLINE_EXCEEDED),
        None,
    ],
    ids=["unavailable", "draining", "internal", "unknown", "cancelled", "deadline", "ended with OK"],
)
async def test_a_broken_stream_is_resumed_where_it_stood(
    caller: Client, scripted: ScriptedServer, end: Fail | None
) -> None:
    scripted.script("Watch", [page(1, 2), caught_up(3), *([end] if end else [])], [rows(4), HANG])

    messages = await taken(caller.watch("s"), 3)

    assert messages == [page(1, 2), caught_up(3), rows(4)]
    assert asked(scripted) == [(None, ""), (3, "j1")]


async def test_what_was_asked_for_is_asked_for_again(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("Watch", [page(1), UNAVAILABLE], [caught_up(1), HANG])

    await taken(caller.watch("s", view=View.VIEW_FULL, page_size=7, resume_limit=9, include_sessions=True), 2)

    first, again = scripted.requests["Watch"]
    assert first == WatchRequest(
        session_id="s", view=View.VIEW_FULL, page_size=7, resume_limit=9, include_sessions=True
    )
    first.after_sequence = 1
    first.journal_id = "j1"
    assert again == first


async def test_a_cut_connection_is_resumed(proxy: Proxy, scripted: ScriptedServer) -> None:
    scripted.script("Watch", [page(1), HANG], [rows(2), caught_up(2), HANG])
    async with connect(proxy.address) as client, aclosing(client.watch("s")) as watching:
        assert await anext(watching) == page(1)
        proxy.cut()

        assert await anext(watching) == rows(2)
    assert asked(scripted) == [(None, ""), (1, "j1")]


async def test_a_server_that_restarts_is_found_again(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("Watch", [page(1), HANG], [rows(2), HANG])
    async with aclosing(caller.watch("s")) as watching:
        assert await anext(watching) == page(1)
        waiting = asyncio.create_task(anext(watching))
        await scripted.stop()
        await scripted.start()

        assert await waiting == rows(2)


async def test_a_burst_of_unavailable_is_sat_out(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("Watch", [page(1), UNAVAILABLE], *([UNAVAILABLE] for _ in range(5)), [rows(2), HANG])

    messages = await taken(caller.watch("s"), 2)

    assert messages == [page(1), rows(2)]
    assert asked(scripted)[1:] == [(1, "j1")] * 6


async def test_silence_is_a_break(scripted: ScriptedServer) -> None:
    scripted.script("Watch", [page(1), HANG], [rows(2), HANG])
    breaks: list[TranscriptError] = []
    async with connect(scripted.address, silence=0.2) as client:
        messages = await taken(client.watch("s", on_break=lambda error, _: breaks.append(error)), 2)

    assert messages == [page(1), rows(2)]
    assert "no message for 0.2 s" in str(breaks[0])


async def test_heartbeats_keep_a_quiet_watch_alive(scripted: ScriptedServer) -> None:
    gates = [asyncio.Event() for _ in range(3)]
    scripted.script("Watch", [page(1), *(step for gate in gates for step in (gate, caught_up(1))), HANG])
    loop = asyncio.get_running_loop()
    async with connect(scripted.address, silence=0.8) as client, aclosing(client.watch("s")) as watching:
        assert await anext(watching) == page(1)
        for gate in gates:
            loop.call_later(0.35, gate.set)
            assert await anext(watching) == caught_up(1)

    assert len(scripted.requests["Watch"]) == 1


async def test_a_break_is_told_with_its_delay(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("Watch", [page(1), DRAINING], [caught_up(1), HANG])
    breaks: list[tuple[str, float]] = []

    await taken(caller.watch("s", on_break=lambda error, delay: breaks.append((error.reason_name, delay))), 2)

    assert [reason for reason, _ in breaks] == ["DRAINING"]
    assert 0 <= breaks[0][1] <= 0.1


# Pages


@pytest.mark.parametrize("cut_after", [1, 2, 3])
async def test_a_page_that_was_cut_is_read_anew(caller: Client, scripted: ScriptedServer, cut_after: int) -> None:
    """The page said how far it reaches; its rows had not all come, so nothing can be resumed."""
    parts = [page(1, 2, latest=6, whole=False), rows(3, 4), rows(5, 6), caught_up(6)]
    scripted.script("Watch", [*parts[:cut_after], UNAVAILABLE], [*parts, HANG])

    messages = await taken(caller.watch("s"), cut_after + 4)

    assert messages == [*parts[:cut_after], *parts]
    assert asked(scripted) == [(None, ""), (None, "")]


async def test_a_page_cut_again_and_again_is_waited_for_longer_and_longer(
    caller: Client, scripted: ScriptedServer
) -> None:
    """Half a page is no progress."""
    half = page(1, latest=2, whole=False)
    cut: list[Step] = [half, UNAVAILABLE]
    scripted.script("Watch", *[cut] * 5, [half, rows(2), caught_up(2), HANG])
    delays: list[float] = []

    messages = await taken(caller.watch("s", on_break=lambda _, delay: delays.append(delay)), 8)

    assert messages == [*[half] * 6, rows(2), caught_up(2)]
    assert len(delays) == 5
    assert all(delay <= 0.1 * 2**n for n, delay in enumerate(delays))


async def test_a_page_instead_of_a_resumption_begins_anew(caller: Client, scripted: ScriptedServer) -> None:
    """As the server sends it to a watcher that is too far behind: rows had before come again."""
    scripted.script("Watch", [page(1, 2, 3), UNAVAILABLE], [page(2, 3, 9), rows(10), HANG])

    messages = await taken(caller.watch("s", resume_limit=5), 3)

    assert messages == [page(1, 2, 3), page(2, 3, 9), rows(10)]


async def test_an_empty_session_is_resumed_from_its_beginning(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("Watch", [page(), UNAVAILABLE], [rows(1), HANG])

    messages = await taken(caller.watch("s"), 2)

    assert messages == [page(), rows(1)]
    assert asked(scripted) == [(None, ""), (0, "j1")]


# Rows once


async def test_rows_that_come_twice_are_shown_once(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script(
        "Watch",
        [page(1, 2), rows(2, 3), rows(3), rows(3, 4, 4), UNAVAILABLE],
        [rows(3), rows(1, 4, 5), caught_up(5), HANG],
    )

    messages = await taken(caller.watch("s"), 5)

    assert messages == [page(1, 2), rows(3), rows(4), rows(5), caught_up(5)]


async def test_what_comes_beside_rows_had_before_is_kept(caller: Client, scripted: ScriptedServer) -> None:
    twice = rows(1)
    twice.sessions.add(id="s", title="new", journal_id="j1")
    twice.live.event_id = "e2"
    scripted.script("Watch", [page(1), twice, HANG])

    messages = await taken(caller.watch("s"), 2)

    twice.ClearField("events")
    assert messages[1] == twice


async def test_a_collapsed_watch_resumes_where_its_bar_was_known(caller: Client, scripted: ScriptedServer) -> None:
    """The bar may still be on its way when a row has come: it is sent again only if asked from before the row."""
    bar = WatchResponse(hidden_sections=HiddenSections(count=1, labels=["a"], marker_sequence=2))
    scripted.script("Watch", [page(1, 2), rows(3, 4), UNAVAILABLE], [rows(3, 4), bar, rows(5), caught_up(5), HANG])

    messages = await taken(caller.watch("s"), 5)

    assert messages == [page(1, 2), rows(3, 4), bar, rows(5), caught_up(5)]
    assert asked(scripted) == [(None, ""), (2, "j1")]


async def test_a_bar_is_asked_for_from_the_last_caught_up_at_every_break(
    caller: Client, scripted: ScriptedServer
) -> None:
    """The server compares the bar with that as of the row asked from: past the row that moved it, it says nothing."""
    bar = WatchResponse(hidden_sections=HiddenSections(count=1, labels=["a"], marker_sequence=2))
    scripted.script(
        "Watch",
        [page(1, 2), rows(3), UNAVAILABLE],
        [rows(3, 4), UNAVAILABLE],
        [UNAVAILABLE],
        [rows(3, 4), rows(5), bar, caught_up(5), rows(6), UNAVAILABLE],
        [HANG],
    )

    async with aclosing(caller.watch("s")) as watching:
        messages = [await anext(watching) for _ in range(7)]
        await goes_on(watching, lambda: len(scripted.requests["Watch"]) == 5)

    assert messages == [page(1, 2), rows(3), rows(4), rows(5), bar, caught_up(5), rows(6)]
    assert asked(scripted) == [(None, ""), (2, "j1"), (2, "j1"), (2, "j1"), (5, "j1")]


async def test_a_watch_with_a_bar_that_never_catches_up_begins_anew(caller: Client, scripted: ScriptedServer) -> None:
    cut: list[Step] = [rows(1, 2), UNAVAILABLE]
    scripted.script("Watch", *[cut] * STALLS, [page(8, 9), rows(10), HANG])

    messages = await taken(caller.watch("s", after_sequence=0, journal_id="j1"), 3)

    assert messages == [rows(1, 2), page(8, 9), rows(10)]
    assert asked(scripted) == [(0, "j1")] * STALLS + [(None, "")]


async def test_a_server_that_is_long_away_is_no_reason_to_begin_anew(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("Watch", [page(1), UNAVAILABLE], *[[UNAVAILABLE]] * (STALLS + 1), [rows(2), HANG])

    assert await taken(caller.watch("s"), 2) == [page(1), rows(2)]


def test_breaks_before_a_caught_up_count_anew_after_one() -> None:
    place = Place(WatchRequest(session_id="s", after_sequence=0))
    for sequence in range(1, 3 * STALLS):
        place.request()
        place.take(rows(sequence))
        if sequence % STALLS == 0:
            place.take(caught_up(sequence))
        place.broken()

        assert place.resumes


@pytest.mark.parametrize(("view", "expand"), [(View.VIEW_FULL, True), (View.VIEW_JOURNAL, False)])
async def test_a_watch_without_a_bar_resumes_after_its_last_row(
    caller: Client, scripted: ScriptedServer, view: View.ValueType, expand: bool
) -> None:
    scripted.script("Watch", [page(1, 2), rows(3, 4), UNAVAILABLE], [rows(5), HANG])

    messages = await taken(caller.watch("s", view=view, expand_sections=expand), 3)

    assert messages == [page(1, 2), rows(3, 4), rows(5)]
    assert asked(scripted) == [(None, ""), (4, "j1")]


async def test_a_long_way_to_the_tip_is_not_begun_anew_at_every_break(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("Watch", [rows(1, 2), UNAVAILABLE], [UNAVAILABLE], [rows(3, 4), UNAVAILABLE], [rows(5), HANG])

    messages = await taken(caller.watch("s", after_sequence=0, expand_sections=True), 3)

    assert sequences_of(messages) == [1, 2, 3, 4, 5]
    assert [after for after, _ in asked(scripted)] == [0, 2, 2, 4]


async def test_a_call_that_brought_nothing_does_not_move_the_place(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("Watch", [page(1), rows(2), UNAVAILABLE], [UNAVAILABLE], [rows(2), caught_up(2), HANG])

    await taken(caller.watch("s"), 3)

    assert [after for after, _ in asked(scripted)] == [None, 1, 1]


# Journals


async def test_another_journal_is_begun_anew(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("Watch", [page(1, 2, 3), UNAVAILABLE], [CHANGED], [page(1, journal_id="j2"), UNAVAILABLE], [HANG])

    async with aclosing(caller.watch("s")) as watching:
        messages = [await anext(watching), await anext(watching)]
        await goes_on(watching, lambda: len(scripted.requests["Watch"]) == 4)

    assert messages == [page(1, 2, 3), page(1, journal_id="j2")]
    assert asked(scripted) == [(None, ""), (3, "j1"), (None, ""), (1, "j2")]


@pytest.mark.parametrize("answer", [CHANGED, AHEAD], ids=["changed", "ahead"])
async def test_a_place_that_the_caller_brought_is_dropped_if_the_journal_does_not_have_it(
    caller: Client, scripted: ScriptedServer, answer: Fail
) -> None:
    scripted.script("Watch", [answer], [page(1), HANG])

    messages = await taken(caller.watch("s", after_sequence=7, journal_id="old"), 1)

    assert messages == [page(1)]
    assert asked(scripted) == [(7, "old"), (None, "")]


async def test_a_resumed_watch_learns_its_journal_from_the_sessions_state(
    caller: Client, scripted: ScriptedServer
) -> None:
    state = WatchResponse(sessions=[Session(id="other", journal_id="x"), Session(id="s", journal_id="j7")])
    scripted.script("Watch", [state, rows(8), caught_up(8), UNAVAILABLE], [HANG])

    async with aclosing(caller.watch("s", after_sequence=7)) as watching:
        for _ in range(3):
            await anext(watching)
        await goes_on(watching, lambda: len(scripted.requests["Watch"]) == 2)

    assert asked(scripted) == [(7, ""), (8, "j7")]


async def test_a_deleted_session_is_shown_deleted_and_then_not_found(caller: Client, scripted: ScriptedServer) -> None:
    last = WatchResponse(sessions=[Session(id="s", deleted=True)])
    scripted.script("Watch", [page(1), last, GONE])
    watching = caller.watch("s")

    assert [await anext(watching), await anext(watching)] == [page(1), last]
    with pytest.raises(SessionNotFound) as caught:
        await anext(watching)
    assert caught.value.metadata == {"session_id": "s"}


async def test_a_deletion_is_final_even_if_the_stream_breaks_right_then(
    caller: Client, scripted: ScriptedServer
) -> None:
    """Else a new session under the old id would be taken for the one that was watched."""
    scripted.script("Watch", [page(1), WatchResponse(sessions=[Session(id="s", deleted=True)]), UNAVAILABLE], [HANG])
    watching = caller.watch("s")
    await anext(watching)
    await anext(watching)

    with pytest.raises(SessionNotFound):
        await anext(watching)
    assert len(scripted.requests["Watch"]) == 1


async def test_another_sessions_deletion_ends_nothing(caller: Client, scripted: ScriptedServer) -> None:
    other = WatchResponse(sessions=[Session(id="other", deleted=True)])
    scripted.script("Watch", [page(1), other, rows(2), HANG])

    assert await taken(caller.watch("s", include_sessions=True), 3) == [page(1), other, rows(2)]


async def test_a_watch_of_the_sessions_alone_begins_anew_after_a_break(
    caller: Client, scripted: ScriptedServer
) -> None:
    state = WatchResponse(sessions=[Session(id="a")])
    scripted.script("Watch", [state, caught_up(0), UNAVAILABLE], [state, HANG])

    assert await taken(caller.watch(include_sessions=True), 3) == [state, caught_up(0), state]
    assert asked(scripted) == [(None, ""), (None, "")]


async def test_a_watch_that_was_resumed_often_leaves_nothing_behind(caller: Client, scripted: ScriptedServer) -> None:
    cut: list[Step] = [lambda request: rows(request.after_sequence + 1), caught_up(0), UNAVAILABLE]
    scripted.script("Watch", *[cut] * 30, [HANG])
    before = len(asyncio.all_tasks())

    messages = await taken(caller.watch("s", view=View.VIEW_JOURNAL, after_sequence=0), 60)

    assert sequences_of(messages) == list(range(1, 31))
    await until(lambda: scripted.ended == len(scripted.requests["Watch"]))
    await until(lambda: len(asyncio.all_tasks()) <= before)


def test_only_a_whole_page_can_be_gone_on_from() -> None:
    """Until then a break is waited out longer and longer, and ends in a page."""
    place = Place(WatchRequest(session_id="s"))
    states = [place.resumes]
    for message in (page(1, 2, latest=4, whole=False), rows(3, 4), caught_up(4), rows(5), page(6, whole=False)):
        place.take(message)
        states.append(place.resumes)

    assert states == [False, False, False, True, True, False]


# What no new call can mend


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (GONE, SessionNotFound),
        (Fail(grpc.StatusCode.PERMISSION_DENIED), PermissionDenied),
        (Fail(grpc.StatusCode.RESOURCE_EXHAUSTED), ResourceExhausted),
        (Fail(grpc.StatusCode.INTERNAL, "INTERNAL"), Internal),
        (CHANGED, JournalChanged),
        (AHEAD, SequenceAhead),
    ],
    ids=["not found", "denied", "too large", "internal", "changed without a place", "ahead without a place"],
)
async def test_an_error_that_stays_is_raised(
    caller: Client, scripted: ScriptedServer, answer: Fail, kind: type[TranscriptError]
) -> None:
    scripted.script("Watch", [answer])

    with pytest.raises(kind):
        await anext(caller.watch("s"))

    assert len(scripted.requests["Watch"]) == 1


async def test_an_unreadable_stream_is_raised_after_a_few_attempts(caller: Client, scripted: ScriptedServer) -> None:
    scripted.script("Watch", [b"\xff\xff\xff"])

    with pytest.raises(Internal, match="cannot be read"):
        await anext(caller.watch("s"))

    assert len(scripted.requests["Watch"]) == 6


async def test_a_watch_that_never_had_a_message_gives_up(scripted: ScriptedServer) -> None:
    scripted.script("Watch", [UNAVAILABLE])
    async with connect(scripted.address, timeout=0.5) as client:
        with pytest.raises(Unavailable):
            await anext(client.watch("s"))


async def test_a_watch_that_had_a_message_does_not_give_up(scripted: ScriptedServer) -> None:
    scripted.script("Watch", [page(1), UNAVAILABLE], *[[UNAVAILABLE]] * 4, [rows(2), HANG])
    async with connect(scripted.address, timeout=0.01) as client:
        assert await taken(client.watch("s"), 2) == [page(1), rows(2)]


# Any history, any break


class Tip:
    """A server's side of a session of *length* rows, as rule 28 has it.

    Every third row is not in the view, and a page has of its older rows every other one: what a row is
    followed by on a page is not what a watch sends after it. Every fifth row moves the bar, which is sent
    where it differs from what the call was told before.
    """

    def __init__(self, length: int, choose: random.Random) -> None:
        self._view = [sequence for sequence in range(1, length + 1) if sequence % 3]
        self._length = length
        self._choose = choose
        self.expected: list[int] = []

    @staticmethod
    def bar(sequence: int) -> int:
        """The marker that hides what is before it, as of a row."""
        return sequence // 5 * 5

    def answers(self, request: WatchRequest) -> list[WatchResponse]:
        """All that a call is sent: rows in random portions, some of them beside a caught_up, some twice."""
        messages = []
        cut = request.after_sequence
        if not request.HasField("after_sequence"):
            cut = self._choose.randint(0, self._length)
            whole = [sequence for sequence in self._view if sequence <= cut]
            older = self._choose.randint(0, len(whole))
            shown = [*whole[:older:2], *whole[older:]]
            split = self._choose.randint(0, len(shown))
            messages = [page(*shown[:split], latest=cut, whole=False), rows(*shown[split:]), caught_up(cut)]
            messages[0].page.hidden_sections.marker_sequence = self.bar(cut)
            self.expected = [*shown, *(sequence for sequence in self._view if sequence > cut)]
        told = self.bar(cut)
        todo = [sequence for sequence in self._view if sequence > cut]
        while todo:
            size = self._choose.randint(1, 4)
            portion, todo = todo[:size], todo[size:]
            message = rows(*portion)
            if self._choose.random() < 0.3:
                message.caught_up.latest_sequence = portion[-1]
                if told != self.bar(portion[-1]) and not request.expand_sections:
                    told = message.hidden_sections.marker_sequence = self.bar(portion[-1])
            messages.append(message)
            if self._choose.random() < 0.2:
                messages.append(rows(*portion))
        last = caught_up(self._length)
        if told != self.bar(self._length) and not request.expand_sections:
            last.hidden_sections.marker_sequence = self.bar(self._length)
        return [*messages, last]


@settings(max_examples=300, deadline=None)
@given(length=st.integers(0, 30), seed=st.integers(0, 2**32))
def test_wherever_the_stream_breaks_a_watcher_has_the_page_every_later_row_and_the_bar(length: int, seed: int) -> None:
    """Rule 27."""
    choose = random.Random(seed)
    tip = Tip(length, choose)
    is_expanded = choose.random() < 0.5
    place = Place(WatchRequest(session_id="s", expand_sections=is_expanded))
    held: list[int] = []
    bar = 0
    calls = 0
    while True:
        calls += 1
        messages = tip.answers(place.request())
        breaks = calls < 20 and choose.random() < 0.9
        for message in messages[: choose.randint(0, len(messages))] if breaks else messages:
            if place.take(message):
                if message.HasField("page"):
                    held = []
                    bar = message.page.hidden_sections.marker_sequence
                held += sequences_of([message])
                if message.HasField("hidden_sections"):
                    bar = message.hidden_sections.marker_sequence
        if not breaks:
            break
        place.broken()

    assert held == tip.expected
    assert is_expanded or bar == tip.bar(length)
