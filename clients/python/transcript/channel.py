"""The connection: how it notices a dead server, what it accepts, what it sends again by itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import grpc.aio

if TYPE_CHECKING:
    from collections.abc import Mapping

RECEIVE_LIMIT = 16 << 20
"""Bytes that one message may have: a row may have 8 MiB, and gRPC's own default is 4 MiB."""

# What may be sent twice without harm: what reads, and what carries an id. A watch resumes by itself.
SAFE_TO_REPEAT: Mapping[str, tuple[str, ...]] = {
    "SessionService": ("CreateSession", "GetSession", "ListSessions", "ForkSession"),
    "JournalService": ("AppendEvents", "ReadEvents", "AddSectionMarker", "AddNote", "ResetContext"),
    "TranscriptService": ("ReadPage", "GetEvent", "ListSections", "ListTurns", "SearchEvents"),
    "ContextService": ("ReadContext",),
}

SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [
                {"service": f"transcript.v1.{service}", "method": method}
                for service, methods in SAFE_TO_REPEAT.items()
                for method in methods
            ],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.1s",
                "maxBackoff": "1s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            },
        }
    ],
    # When most calls fail, repeating them is part of the trouble.
    "retryThrottling": {"maxTokens": 50, "tokenRatio": 1},
}

OPTIONS: Mapping[str, int | str] = {
    "grpc.max_receive_message_length": RECEIVE_LIMIT,
    # A ping every 30 s while a call is open, answered within 10 s. ping_timeout_ms is what decides:
    # without it a frozen server is noticed after 60 s, whatever keepalive_timeout_ms says.
    "grpc.keepalive_time_ms": 30_000,
    "grpc.keepalive_timeout_ms": 10_000,
    "grpc.http2.ping_timeout_ms": 10_000,
    # A watcher sends nothing for hours; by default pings would cease after two.
    "grpc.http2.max_pings_without_data": 0,
    # A server that restarts is found again within seconds, not minutes.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 5_000,
    "grpc.service_config": json.dumps(SERVICE_CONFIG),
}


def open_channel(
    target: str, credentials: grpc.ChannelCredentials | None, options: Mapping[str, int | str]
) -> grpc.aio.Channel:
    """A channel to *target*, in clear without *credentials*; *options* go before those above."""
    arguments = list({**OPTIONS, **options}.items())
    if credentials is None:
        return grpc.aio.insecure_channel(target, options=arguments)
    return grpc.aio.secure_channel(target, credentials, options=arguments)
