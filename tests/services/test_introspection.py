"""What tools ask a server: what it serves, whether it is well, what its channels do."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf import descriptor_pb2
from grpc_channelz.v1 import channelz_pb2, channelz_pb2_grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from semantics.wire import Wire, failure_of

from transcript.v1 import event_pb2
from transcript_server.app import Serving

SERVICES = [f"transcript.v1.{name}" for name in ("SessionService", "JournalService", "TranscriptService")]
REFLECTIONS = ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"]
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


async def reflected(channel: grpc.aio.Channel, name: str, *requests: dict[str, Any]) -> list[Any]:
    """Asks a reflection service, all over one stream."""
    ask = channel.stream_stream(
        f"/{name}/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    sent = [reflection_pb2.ServerReflectionRequest(**request) for request in requests]
    return [response async for response in ask(iter(sent))]


@pytest.mark.parametrize("name", REFLECTIONS)
async def test_reflection_lists_every_service_under_both_of_its_names(channel: grpc.aio.Channel, name: str) -> None:
    """Old tools ask v1alpha, new ones v1, and each finds the other too."""
    (response,) = await reflected(channel, name, {"list_services": ""})
    listed = {service.name for service in response.list_services_response.service}

    assert listed >= {*SERVICES, *REFLECTIONS, "grpc.health.v1.Health"}


@pytest.mark.parametrize("name", REFLECTIONS)
async def test_reflection_gives_the_contract_itself(channel: grpc.aio.Channel, name: str) -> None:
    """Files by symbol and by name, whole: from them a tool makes any request, and reads each kind's facts."""
    responses = await reflected(
        channel,
        name,
        {"file_containing_symbol": "transcript.v1.SessionService"},
        {"file_containing_symbol": "transcript.v1.Event"},
        {"file_by_filename": "transcript/v1/kind.proto"},
    )
    files = [
        descriptor_pb2.FileDescriptorProto.FromString(response.file_descriptor_response.file_descriptor_proto[0])
        for response in responses
    ]

    assert [file.name for file in files] == [
        "transcript/v1/session_service.proto",
        "transcript/v1/event.proto",
        "transcript/v1/kind.proto",
    ]
    own = descriptor_pb2.FileDescriptorProto()
    event_pb2.DESCRIPTOR.CopyToProto(own)
    assert files[1] == own


@pytest.mark.parametrize("name", REFLECTIONS)
async def test_reflection_says_what_it_does_not_know_and_goes_on(channel: grpc.aio.Channel, name: str) -> None:
    """An unknown symbol is an answer, not the stream's end."""
    unknown, known = await reflected(
        channel, name, {"file_containing_symbol": "transcript.v1.Nothing"}, {"list_services": ""}
    )

    assert unknown.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]
    assert known.list_services_response.service


@pytest.mark.parametrize("service", ["", *SERVICES])
async def test_every_service_is_well(channel: grpc.aio.Channel, service: str) -> None:
    """And the server as a whole."""
    health = health_pb2_grpc.HealthStub(channel)
    assert (await health.Check(health_pb2.HealthCheckRequest(service=service))).status == SERVING
    watching = health.Watch(health_pb2.HealthCheckRequest(service=service))
    assert (await watching.read()).status == SERVING
    watching.cancel()


async def test_the_health_of_no_service_is_not_found(channel: grpc.aio.Channel) -> None:
    """Told by the health service's own code."""
    health = health_pb2_grpc.HealthStub(channel)
    failure = await failure_of(health.Check(health_pb2.HealthCheckRequest(service="transcript.v1.Nothing")))

    assert failure.code is grpc.StatusCode.NOT_FOUND


async def test_who_watches_health_hears_of_the_server_going_away(server: Serving, channel: grpc.aio.Channel) -> None:
    """Before it is gone."""
    health = health_pb2_grpc.HealthStub(channel)
    watching = [health.Watch(health_pb2.HealthCheckRequest(service=service)) for service in ("", SERVICES[0])]
    assert [(await watch.read()).status for watch in watching] == [SERVING] * 2
    stopping = asyncio.ensure_future(server.stop())
    assert [(await watch.read()).status for watch in watching] == [NOT_SERVING] * 2
    for watch in watching:
        watch.cancel()
    await stopping


async def test_channelz_tells_of_the_server_and_its_calls(wire: Wire, channel: grpc.aio.Channel) -> None:
    """How many there were, and where it listens."""
    await wire.create("s")
    channelz = channelz_pb2_grpc.ChannelzStub(channel)
    servers = (await channelz.GetServers(channelz_pb2.GetServersRequest())).server
    assert sum(server.data.calls_started for server in servers) >= 2
    assert any(server.listen_socket for server in servers)

    found = await channelz.GetServer(channelz_pb2.GetServerRequest(server_id=servers[-1].ref.server_id))
    assert found.server.ref == servers[-1].ref
    missing = await failure_of(channelz.GetServer(channelz_pb2.GetServerRequest(server_id=1 << 40)))
    assert missing.code is grpc.StatusCode.NOT_FOUND
