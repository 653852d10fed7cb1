"""Server reflection under both of its names, so that old and new tools find the services."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf import descriptor_pool
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from grpc_reflection.v1alpha import reflection, reflection_pb2

V1: Final = "grpc.reflection.v1.ServerReflection"
"""The current name; grpcio-reflection serves v1alpha alone, whose messages and method are the same."""
_V1_FILE: Final = "grpc/reflection/v1/reflection.proto"


def add_reflection(server: grpc.aio.Server, services: Sequence[str]) -> None:
    """Lets clients ask the server what it serves: these services, by their full names, and reflection itself."""
    _describe_v1()
    names = (*services, reflection.SERVICE_NAME, V1)
    reflection.enable_server_reflection(names, server)
    servicer: Any = reflection.aio.ReflectionServicer(names)
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(V1, {"ServerReflectionInfo": handler})])


def _describe_v1() -> None:
    """Makes v1 known to the descriptors that reflection answers from, as the renamed v1alpha that it is."""
    pool = descriptor_pool.Default()
    try:
        pool.FindFileByName(_V1_FILE)
    except KeyError:
        alpha = FileDescriptorProto()
        reflection_pb2.DESCRIPTOR.CopyToProto(alpha)
        alpha.name, alpha.package = _V1_FILE, "grpc.reflection.v1"
        for field in (field for message in alpha.message_type for field in message.field if field.type_name):
            field.type_name = field.type_name.replace(".v1alpha.", ".v1.")
        for method in alpha.service[0].method:
            method.input_type = method.input_type.replace(".v1alpha.", ".v1.")
            method.output_type = method.output_type.replace(".v1alpha.", ".v1.")
        pool.Add(alpha)
