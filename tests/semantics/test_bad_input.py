"""What a caller must not send: every field of every request, spoiled in every way that its type allows."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from transcript.v1.event_pb2 import Event
from transcript.v1.journal_service_pb2 import AddNoteRequest, AppendEventsRequest
from transcript.v1.session_pb2 import Session
from transcript.v1.session_service_pb2 import CreateSessionRequest, ListSessionsRequest, UpdateSessionRequest
from transcript.v1.transcript_service_pb2 import ListSectionsRequest, SearchEventsRequest

from .rows import ask, begin, note, reply, status, user
from .specimens import INTEGERS, METHODS, OUTPUT_ONLY, places, specimens
from .spoiling import INVALID, copied, failing, is_untouched, path_of, scalar, send, set_value, spoiled
from .wire import Wire, failure_of

UNKNOWN = b"\xa2\x06\x03abc"  # field 100, a string
SENTINEL = "ZZQQZZQQ"
NOT_UTF8 = b"\xff\xfeZ\xc0\xc0\x80\xed\xa0"
MAY_BE_NEGATIVE = {"exit_code", "input_tokens", "output_tokens", "cached_input_tokens", "tokens_before", "tokens_after"}
SURFACE_RANGES = {"start_sequence", "end_sequence", "after_sequence"}


@pytest.mark.parametrize("method", METHODS)
async def test_the_specimens_are_sound(ready: Wire, method):
    """So that what is refused below is refused for what was spoiled."""
    for index, specimen in enumerate(specimens(method)):
        session_id = f"s{index}"
        await ready.create(session_id)
        await ready.append(session_id, user("x"), reply("x"), ask("q1"))
        request = copied(specimen)
        for place in places(request):
            message = place.within(request)
            for name in ("session_id", "source_session_id"):
                if name in message.DESCRIPTOR.fields_by_name and not place.path.startswith("events"):
                    setattr(message, name, session_id)
        await send(ready, method, request.SerializeToString())


@pytest.mark.parametrize("method", METHODS)
async def test_rule_5_a_field_that_the_server_does_not_know_is_refused_at_any_depth(ready: Wire, method):
    """It would slip past every check."""
    for specimen in specimens(method):
        for place in places(specimen):
            request = copied(specimen)
            place.within(request).MergeFromString(UNKNOWN)
            failure = await failing(ready, method, request.SerializeToString())
            assert (failure.code, failure.reason) == (INVALID, "UNKNOWN_FIELD"), (place.path, failure)
    await is_untouched(ready)


@pytest.mark.parametrize("method", METHODS)
async def test_rule_5_an_enum_value_that_the_server_does_not_know_is_refused(ready: Wire, method):
    """In every enum field; the field is named."""

    def change(message: Message, field: FieldDescriptor) -> bool:
        return field.enum_type is not None and set_value(message, field, 99)

    for path, request in spoiled(method, change):
        failure = await failing(ready, method, request.SerializeToString())
        assert (failure.code, failure.reason) == (INVALID, "INVALID_FIELD"), (path, failure)
        assert path in [violation.removesuffix("[0]") for violation in failure.violations], (path, failure)
    await is_untouched(ready)


@pytest.mark.parametrize("method", METHODS)
async def test_rule_5_numbers_below_zero_are_refused(ready: Wire, method):
    """Sizes, sequences, offsets and timeouts; counts of tokens and an exit status are the writer's own affair."""

    def change(message: Message, field: FieldDescriptor) -> bool:
        if field.type not in INTEGERS or field.name in MAY_BE_NEGATIVE or field.full_name.startswith("google."):
            return False
        return field.name not in OUTPUT_ONLY.get(message.DESCRIPTOR.name, ()) and set_value(message, field, -1)

    for path, request in spoiled(method, change):
        failure = await failing(ready, method, request.SerializeToString())
        if "events" in path and path.rpartition(".")[2] in SURFACE_RANGES and failure.reason == "BAD_SURFACE_RANGE":
            continue
        assert (failure.code, failure.reason) == (INVALID, "INVALID_FIELD"), (path, failure)
        assert path in [violation.removesuffix("[0]") for violation in failure.violations], (path, failure)
    await is_untouched(ready)


@pytest.mark.parametrize("method", METHODS)
async def test_rule_5_output_only_fields_are_refused_wherever_they_are_set(ready: Wire, method):
    """Of rows and of sessions; each is named."""

    def change(message: Message, field: FieldDescriptor) -> bool:
        if field.name not in OUTPUT_ONLY.get(message.DESCRIPTOR.name, ()):
            return False
        if field.message_type is not None:
            getattr(message, field.name).SetInParent()
            return True
        return set_value(message, field, "value" if field.type == FieldDescriptor.TYPE_STRING else 1)

    for path, request in spoiled(method, change):
        failure = await failing(ready, method, request.SerializeToString())
        assert (failure.code, failure.reason) == (INVALID, "INVALID_FIELD"), (path, failure)
        assert path in failure.violations, (path, failure)
    await is_untouched(ready)


@pytest.mark.parametrize("method", METHODS)
async def test_text_that_is_not_utf8_is_refused_in_every_field(ready: Wire, method):
    """Also where the server would not look at it."""

    def change(message: Message, field: FieldDescriptor) -> bool:
        return scalar(field) and field.type == FieldDescriptor.TYPE_STRING and set_value(message, field, SENTINEL)

    for path, request in spoiled(method, change):
        raw = request.SerializeToString().replace(SENTINEL.encode(), NOT_UTF8)
        failure = await failing(ready, method, raw)
        assert failure.code is INVALID, (path, failure)
    await is_untouched(ready)


HOSTILE_IDS = ("a/b", "a b", "é", "a\x00", "\x1b[31m", "a\nb", "\u202eabc", ".a", "-a", "x" * 129, "a\u200b")


@pytest.mark.parametrize("method", METHODS)
async def test_a_session_id_that_cannot_be_one_is_refused(ready: Wire, method):
    """Wherever a request names the session; an empty one too, where there must be one."""
    optional = {"CreateSession", "ListSessions", "ForkSession", "Watch", "SearchEvents"}
    for specimen in specimens(method)[:1]:
        for place in places(specimen):
            message = place.within(specimen)
            for name in ("session_id", "source_session_id", "id"):
                is_id = name != "id" or message.DESCRIPTOR.name == "Session"
                if name not in message.DESCRIPTOR.fields_by_name or not is_id or "[" in place.path:
                    continue
                for hostile in (*HOSTILE_IDS, *(() if method in optional else ("",))):
                    request = copied(specimen)
                    setattr(place.within(request), name, hostile)
                    failure = await failing(ready, method, request.SerializeToString())
                    assert (failure.code, failure.reason) == (INVALID, "INVALID_FIELD"), (place.field(name), hostile)
                    assert place.field(name) in failure.violations, failure
    await is_untouched(ready)


@pytest.mark.parametrize("hostile", ["x" * 129, "é" * 65, "a\x00b", "a\x1bb", "a\nb"], ids=ascii)
async def test_an_event_id_that_cannot_be_one_is_refused(ready: Wire, hostile):
    """128 bytes at most, and no control character; by any RPC."""
    assert (await ready.refused("s", user(id=hostile))).violations == ["events[0].id"]
    request = AddNoteRequest(session_id="s", note=note().note, event_id=hostile)
    failure = await failure_of(ready.journal.AddNote(request))
    assert (failure.reason, failure.violations) == ("INVALID_FIELD", ["event_id"])
    await is_untouched(ready)


async def test_an_event_id_may_have_128_bytes(ready: Wire):
    """Of any text."""
    assert (await ready.append("s", user(id="x" * 128), reply(id="é" * 64))).sequences == [4, 5]


SESSIONS = {
    "session.title": Session(id="t", title="x" * 201),
    "session.labels": Session(id="t", labels={f"{n}": "v" for n in range(65)}),
    "session.labels ": Session(id="t", labels={"k": "x" * 257}),
    "session.labels  ": Session(id="t", labels={"x" * 257: "v"}),
}


@pytest.mark.parametrize("path", SESSIONS)
async def test_a_sessions_fields_have_limits(ready: Wire, path):
    """At creation and at a change."""
    session = SESSIONS[path]
    for failure in (
        await failure_of(ready.sessions.CreateSession(CreateSessionRequest(session=session))),
        await failure_of(
            ready.sessions.UpdateSession(
                UpdateSessionRequest(session=Session(id="s", title=session.title, labels=session.labels))
            )
        ),
    ):
        assert failure.reason == "INVALID_FIELD"
        assert any(violation.startswith(path.strip()) for violation in failure.violations), failure
    await is_untouched(ready)


async def test_a_title_may_have_200_code_points_and_labels_64_entries(ready: Wire):
    """At the limits themselves."""
    labels = {f"{n:0>128}": "v" * 128 for n in range(64)}
    session = await ready.create("t", title="é" * 200, labels=labels)
    assert (session.title, dict(session.labels)) == ("é" * 200, labels)


async def test_an_update_names_fields_that_it_may_change(ready: Wire):
    """Others, and such as there are not, are refused."""
    for path in ("kind", "owner", "nothing", "title.x", ""):
        request = UpdateSessionRequest(session=Session(id="s", title="t"), update_mask={"paths": [path]})
        failure = await failure_of(ready.sessions.UpdateSession(request))
        assert (failure.code, failure.reason) == (INVALID, "INVALID_FIELD"), path
        assert any("update_mask" in violation for violation in failure.violations)
    await is_untouched(ready)


async def test_a_batch_has_1_to_1000_rows_and_8_mib(ready: Wire):
    """No row, a row too many, and too much of them."""
    failure = await ready.refused("s")
    assert (failure.reason, failure.violations) == ("INVALID_FIELD", ["events"])
    failure = await ready.refused("s", *(status() for _ in range(1001)))
    assert (failure.reason, failure.violations) == ("INVALID_FIELD", ["events"])
    failure = await ready.refused("s", *(reply("x" * (3 << 20)) for _ in range(3)))
    assert (failure.reason, failure.violations) == ("INVALID_FIELD", ["events"])
    await is_untouched(ready)


async def test_source_sequences_are_at_most_1000_rows(ready: Wire):
    """A thousand pass."""
    await ready.append("s", reply(source_sequences=[1] * 1000))
    failure = await ready.refused("s", reply(source_sequences=[1] * 1001))
    assert (failure.reason, failure.violations) == ("INVALID_FIELD", ["events[0].source_sequences"])


@pytest.mark.parametrize(
    ("row", "path"),
    [
        (user(time=Timestamp(seconds=1 << 40)), "events[0].time"),
        (user(time=Timestamp(seconds=-(1 << 40))), "events[0].time"),
        (user(time=Timestamp(nanos=-1)), "events[0].time"),
        (user(time=Timestamp(nanos=1_000_000_000)), "events[0].time"),
        (begin(idle=-1), "events[0].turn_started.idle_timeout"),
        (begin(idle=-0.5), "events[0].turn_started.idle_timeout"),
    ],
)
async def test_rule_5_times_that_are_none_are_refused(ready: Wire, row, path):
    """Beyond what a Timestamp may say, and timeouts below zero."""
    failure = await ready.refused("s", row)
    assert (failure.code, failure.reason, failure.violations) == (INVALID, "INVALID_FIELD", [path])
    await is_untouched(ready)


async def test_a_duration_that_is_none_is_refused(ready: Wire):
    """Its parts must have one sign."""
    row = Event()
    row.turn_started.idle_timeout.CopyFrom(Duration(seconds=1, nanos=-5))
    assert (await ready.refused("s", row)).reason == "INVALID_FIELD"


async def test_rule_5_a_surface_without_an_operation_is_refused(ready: Wire):
    """It says nothing."""
    row = user()
    row.surface.SetInParent()
    failure = await ready.refused("s", status(), row)
    assert (failure.reason, failure.violations) == ("INVALID_FIELD", ["events[1].surface"])


async def test_before_and_after_exclude_each_other(ready: Wire):
    """A page is read one way."""
    failure = await failure_of(ready.page("s", before_sequence=2, after_sequence=1))
    assert (failure.code, failure.reason) == (INVALID, "INVALID_FIELD")
    assert failure.violations


@pytest.mark.parametrize("token", ["x", "AAAA", "é", "\x00", "x" * 10_000])
async def test_a_page_token_that_is_none_is_refused(ready: Wire, token):
    """It is for this server to make up."""
    sessions = ready.sessions.ListSessions(ListSessionsRequest(page_token=token))
    sections = ready.transcript.ListSections(ListSectionsRequest(session_id="s", page_token=token))
    for failure in (await failure_of(sessions), await failure_of(sections)):
        assert (failure.code, failure.reason, failure.violations) == (INVALID, "INVALID_FIELD", ["page_token"])


@pytest.mark.parametrize("query", ["", "x" * 201])
async def test_a_query_has_1_to_200_code_points(ready: Wire, query):
    """200 of them pass."""
    if not await ready.serves(path_of("SearchEvents")):
        pytest.skip("SearchEvents is not served yet")

    async def search(text: str) -> None:
        async for _ in ready.transcript.SearchEvents(SearchEventsRequest(session_id="s", query=text)):
            pass

    failure = await failure_of(search(query))
    assert (failure.reason, failure.violations) == ("INVALID_FIELD", ["query"])
    await search("é" * 200)


async def test_one_bad_row_among_many_is_named_by_its_place(ready: Wire):
    """The 500th of a thousand."""
    rows = [status(f"{n}") for n in range(1000)]
    rows[499].turn = 1
    request = AppendEventsRequest(session_id="s", events=rows)
    failure = await failure_of(ready.journal.AppendEvents(request))
    assert failure.violations == ["events[499].turn"]
    await is_untouched(ready)
