"""The one place where the server's parts are put together."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import grpc.aio
from grpc_channelz.v1 import channelz, channelz_pb2
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from transcript.v1 import context_service_pb2, journal_service_pb2, session_service_pb2, transcript_service_pb2
from transcript_server.journal.journal import Journal
from transcript_server.journal.sqlite import SqliteJournal
from transcript_server.rules import limits
from transcript_server.rules.intake import Intake
from transcript_server.services.calls import handlers
from transcript_server.services.contexts import ContextService
from transcript_server.services.interceptor import Interceptor, JsonLines
from transcript_server.services.journals import JournalService
from transcript_server.services.reflection import add_reflection
from transcript_server.services.sessions import SessionService
from transcript_server.services.transcripts import TranscriptService

_CHANNEL_OPTIONS: Final = (
    ("grpc.max_receive_message_length", limits.RECEIVE_BYTES),
    # Two servers on one port would share its calls by chance; the second is to fail instead.
    ("grpc.so_reuseport", 0),
    # Clients may ping every 10 s on a quiet stream. It is this key, not the one that the macro's name suggests.
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    # A client that froze is found out within 40 s. Without ping_timeout_ms it would take a minute more.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
)


STOP_SECONDS: Final = 0.1
"""How long open calls of tools have when a drained server stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What a server is started with."""

    data: Path
    """The folder of the embedded store; made if it is missing."""
    grpc: str = "127.0.0.1:50051"
    """Where to listen, host:port, on loopback; port 0 picks a free one."""
    idle_timeout_seconds: float = limits.IDLE_TIMEOUT_SECONDS
    """How long a turn may lie idle whose TurnStarted does not say."""
    heartbeat_seconds: float = limits.HEARTBEAT_SECONDS
    """How often a quiet watcher hears from the server."""
    drain_seconds: float = 5
    """How long calls may take to finish when the server goes away."""


class Serving:
    """A server that is running; ended by `stop`.

    Attributes:
        address: Where it listens, host:port.
    """

    def __init__(
        self,
        server: grpc.aio.Server,
        journal: Journal,
        calls: Interceptor,
        health_servicer: health.aio.HealthServicer,
        address: str,
        drain_seconds: float,
    ) -> None:
        self.address = address
        self._server = server
        self._journal = journal
        self._calls = calls
        self._health = health_servicer
        self._drain_seconds = drain_seconds
        self._stopped = False

    async def stop(self) -> None:
        """Drains: health says NOT_SERVING, watchers are told to resume, calls finish, the store closes."""
        if self._stopped:
            return
        self._stopped = True
        await self._health.enter_graceful_shutdown()
        self._journal.hub.drain()
        await self._calls.drain(self._drain_seconds)
        # Nothing of ours runs any more; a tool that watches health has been told, and is not waited for.
        await self._server.stop(STOP_SECONDS)
        await self._calls.finished()
        await self._journal.close()


@asynccontextmanager
async def serving(config: Config) -> AsyncIterator[Serving]:
    """Runs a server in this event loop.

    Raises:
        ValueError: The address is not host:port on loopback.
        OSError: The port is taken.
        StoreUnusable: Another server has the data folder open, or what lies there is not for this version.
    """
    host, port = loopback(config.grpc)
    journal = await SqliteJournal.open(config.data, idle_timeout_seconds=config.idle_timeout_seconds)
    try:
        running = await _start(config, journal, host, port)
    except BaseException:
        await journal.close()
        raise
    try:
        yield running
    finally:
        await running.stop()


async def run(config: Config, ready: Callable[[str], None]) -> None:
    """Serves until SIGINT or SIGTERM, then drains.

    Args:
        config: What to serve.
        ready: Told the address once calls are taken.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with serving(config) as running:
        ready(running.address)
        await stop.wait()


def serve(config: Config, ready: Callable[[str], None]) -> None:
    """Runs `run` in an event loop of its own: uvloop's, where there is one."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(run(config, ready))
    else:
        uvloop.run(run(config, ready))


def loopback(address: str) -> tuple[str, int]:
    """The host and port of an address on loopback.

    Raises:
        ValueError: It is none. Calls carry no identity yet, so nobody else may reach the server.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{address} is not host:port")
    bare = host.removeprefix("[").removesuffix("]")
    try:
        is_loopback = bare == "localhost" or ipaddress.ip_address(bare).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise ValueError(f"{address} is not on loopback; without authentication the server listens on 127.0.0.1 alone")
    return host, int(port)


async def _start(config: Config, journal: Journal, host: str, port: int) -> Serving:
    calls = Interceptor()
    server = grpc.aio.server(interceptors=[calls], options=_CHANNEL_OPTIONS)
    services = {
        session_service_pb2.DESCRIPTOR.services_by_name["SessionService"]: SessionService(journal),
        journal_service_pb2.DESCRIPTOR.services_by_name["JournalService"]: JournalService(
            journal, Intake(journal.secret)
        ),
        transcript_service_pb2.DESCRIPTOR.services_by_name["TranscriptService"]: TranscriptService(
            journal, config.heartbeat_seconds
        ),
        context_service_pb2.DESCRIPTOR.services_by_name["ContextService"]: ContextService(journal),
    }
    server.add_generic_rpc_handlers([handlers(service, descriptor) for descriptor, service in services.items()])
    names = [descriptor.full_name for descriptor in services]
    health_servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(health_servicer, server)
    channelz.add_channelz_servicer(server)
    tools = (health.SERVICE_NAME, channelz_pb2.DESCRIPTOR.services_by_name["Channelz"].full_name)
    add_reflection(server, [*names, *tools])
    try:
        bound = server.add_insecure_port(f"{host}:{port}")
    except RuntimeError:
        raise OSError(f"cannot listen on {host}:{port}; is another server running there?") from None
    await server.start()
    for name in ("", *names):
        await health_servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    return Serving(server, journal, calls, health_servicer, f"{host}:{bound}", config.drain_seconds)
