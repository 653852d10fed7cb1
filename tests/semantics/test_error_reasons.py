"""Every reason in the contract, raised over the wire and held against what the contract says of it."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import grpc
import grpc.aio
import pytest

from transcript.v1.error_reason_pb2 import ErrorReason
from transcript.v1.event_pb2 import Event
from transcript.v1.session_service_pb2 import DeleteSessionRequest
from transcript.v1.transcript_service_pb2 import GetEventRequest, WatchRequest
from transcript_server.app import Config, Serving

from .rows import begin, checkpoint, marker, note, reply, respond, status, user
from .watching import watch
from .wire import DOMAIN, OPTIONS, TRANSCRIPT, Failure, Wire, failure_of

PREFIX = "ERROR_REASON_"
REASONS = {name.removeprefix(PREFIX) for name in ErrorReason.keys() if name != f"{PREFIX}UNSPECIFIED"}  # noqa: SIM118
PROTO = Path(__file__).parents[2] / "proto" / "transcript" / "v1" / "error_reason.proto"
SECRET = re.compile(r"[Tt]raceback|sqlite|SELECT|INSERT|\.py|/tmp|Error\(|apsw", re.ASCII)


def documented(reason: str) -> tuple[str, set[str], set[str]]:
    """The code and the metadata keys that the contract names: those it always has, those it may have."""
    (comment,) = re.findall(rf"((?: *//[^\n]*\n)+) *{PREFIX}{reason} =", PROTO.read_text())
    text = " ".join(line.strip().removeprefix("//").strip() for line in comment.splitlines())
    keys = re.search(r"Metadata: ([^.;]*)", text)
    other = re.search(r"of a rewind, ([a-z_]*)", text)
    always = {key.strip() for key in keys[1].split(",")} if keys else set()
    return text.partition(".")[0], always, {other[1]} if other else set()


async def invalid_field(wire: Wire) -> Failure:
    return await wire.refused("s", marker("a\nb"))


async def unknown_field(wire: Wire) -> Failure:
    return await wire.refused("s", Event.FromString(status().SerializeToString() + b"\xa2\x06\x03abc"))


async def unknown_kind(wire: Wire) -> Failure:
    return await wire.refused("s", Event(id="x"))


async def bad_surface_op(wire: Wire) -> Failure:
    row = checkpoint(1, 1)
    row.ClearField("surface")
    return await wire.refused("s", row)


async def row_too_large(wire: Wire) -> Failure:
    return await wire.refused("s", reply("x" * ((8 << 20) + 1)))


async def session_not_found(wire: Wire) -> Failure:
    return await wire.refused("nobody", user())


async def event_not_found(wire: Wire) -> Failure:
    return await failure_of(wire.transcript.GetEvent(GetEventRequest(session_id="s", sequence=99)))


async def session_exists(wire: Wire) -> Failure:
    return await failure_of(wire.create("s", title="other"))


async def event_id_reused(wire: Wire) -> Failure:
    await wire.append("s", status(id="x"))
    return await wire.refused("s", user(id="x"))


async def sequence_mismatch(wire: Wire) -> Failure:
    return await wire.refused("s", user(), expected_latest_sequence=7)


async def sequence_ahead(wire: Wire) -> Failure:
    return await failure_of(wire.page("s", as_of_sequence=99))


async def bad_surface_range(wire: Wire) -> Failure:
    return await wire.refused("s", checkpoint(98, 99))


async def request_not_open(wire: Wire) -> Failure:
    return await wire.refused("s", respond("never asked"))


async def journal_changed(wire: Wire) -> Failure:
    await wire.create("gone")
    old = (await wire.session("gone")).journal_id
    await wire.sessions.DeleteSession(DeleteSessionRequest(session_id="gone"))
    await wire.create("gone")
    request = WatchRequest(session_id="gone", after_sequence=0, journal_id=old)
    return await failure_of(wire.raw_stream(TRANSCRIPT + "Watch", request))


async def held_rows_full(wire: Wire) -> Failure:
    await wire.append("s", begin(), *(note() for _ in range(10)))
    return await wire.refused("s", note())


ON_ANY_SERVER: dict[str, Callable[[Wire], Awaitable[Failure]]] = {
    "INVALID_FIELD": invalid_field,
    "UNKNOWN_FIELD": unknown_field,
    "UNKNOWN_KIND": unknown_kind,
    "BAD_SURFACE_OP": bad_surface_op,
    "ROW_TOO_LARGE": row_too_large,
    "SESSION_NOT_FOUND": session_not_found,
    "EVENT_NOT_FOUND": event_not_found,
    "SESSION_EXISTS": session_exists,
    "EVENT_ID_REUSED": event_id_reused,
    "SEQUENCE_MISMATCH": sequence_mismatch,
    "SEQUENCE_AHEAD": sequence_ahead,
    "BAD_SURFACE_RANGE": bad_surface_range,
    "REQUEST_NOT_OPEN": request_not_open,
    "JOURNAL_CHANGED": journal_changed,
    "HELD_ROWS_FULL": held_rows_full,
}
ON_A_SERVER_OF_ITS_OWN = {"DRAINING", "INTERNAL"}
IN_THE_FAULTS = {"STORE_FULL"}  # tests/faults/test_full_disk.py


def check(failure: Failure, reason: str) -> None:
    """Code, one ErrorInfo, domain, reason and metadata as documented; no word of how it is made."""
    code, always, sometimes = documented(reason)
    assert (failure.reason, failure.domain, failure.infos) == (reason, DOMAIN, 1)
    assert failure.code is grpc.StatusCode[code]
    assert always <= failure.metadata.keys() <= always | sometimes
    assert failure.details
    assert not SECRET.search(failure.details)


def test_every_reason_is_raised_somewhere_here():
    """Whoever adds one adds a test."""
    assert ON_ANY_SERVER.keys() | ON_A_SERVER_OF_ITS_OWN | IN_THE_FAULTS == REASONS


@pytest.mark.parametrize("reason", ON_ANY_SERVER)
async def test_a_reason_comes_over_the_wire_as_documented(wire: Wire, reason):
    """And nothing is written."""
    await wire.create("s")
    await wire.append("s", user())
    failure = await ON_ANY_SERVER[reason](wire)
    check(failure, reason)
    if reason == "INVALID_FIELD":
        assert failure.violations == ["events[0].section_marker.label"]
    session = await wire.session("s")
    assert session.latest_sequence <= 2


async def test_a_rewind_to_nowhere_names_its_target(wire: Wire):
    """The metadata of BAD_SURFACE_RANGE, of a rewind."""
    await wire.create("s")
    row = Event()
    row.rewind.after_sequence = 5
    assert (await wire.refused("s", row)).metadata == {"after_sequence": "5"}


async def test_draining_is_told_to_watchers_when_the_server_stops(server: Serving):
    """UNAVAILABLE: connect anew and resume."""
    async with grpc.aio.insecure_channel(server.address, options=OPTIONS) as channel:
        wire = Wire(channel)
        await wire.create("s")
        async with watch(wire, "s") as watcher:
            await watcher.next()
            await server.stop()

            async def to_the_end() -> None:
                await watcher.until(lambda: False)

            check(await failure_of(to_the_end()), "DRAINING")


def break_store(folder: Path) -> None:
    """Takes every table from under the server's feet, as a careless program might."""
    for path in folder.rglob("*"):
        if path.is_file() and path.read_bytes()[:15] == b"SQLite format 3":
            with contextlib.closing(sqlite3.connect(path, timeout=10)) as store:
                names = store.execute("select name from sqlite_master where type = 'table'").fetchall()
                for (name,) in names:
                    if not name.startswith("sqlite_"):
                        store.execute(f'alter table "{name}" rename to "{name}_gone"')
                store.commit()


async def test_internal_says_nothing_but_a_request_id(server: Serving, wire: Wire, config: Config, caplog):
    """The store broken underneath, by another program: a fixed text, and the log has the rest."""
    await wire.create("s")
    await wire.append("s", user())
    break_store(config.data)
    failure = await wire.refused("s", user())
    check(failure, "INTERNAL")
    other = await failure_of(wire.session("s"))
    assert other.details.replace(other.metadata["request_id"], "") == failure.details.replace(
        failure.metadata["request_id"], ""
    )
    assert any(record.exc_info for record in caplog.records)
