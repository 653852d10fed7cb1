"""Server reflection under both of its names, so that old and new tools find the services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import grpc
import grpc.aio
from grpc_reflection.v1alpha import reflection, reflection_pb2

V1: Final = "grpc.reflection.v1.ServerReflection"
"""The current name; messages and method are those of v1alpha, which is all that grpcio-reflection serves by itself."""


def add_reflection(server: grpc.aio.Server, services: Sequence[str]) -> None:
    """Lets clients ask the server what it serves: these services, by their full names, and reflection itself."""
    names = (*services, reflection.SERVICE_NAME, V1)
    reflection.enable_server_reflection(names, server)
    servicer: Any = reflection.aio.ReflectionServicer(names)
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(V1, {"ServerReflectionInfo": handler})])
