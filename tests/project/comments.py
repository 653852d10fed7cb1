"""The comments of the contract, by the full name of what they stand over."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2

from .tree import ROOT

Step = tuple[str, int]

# Field numbers in descriptor.proto: how a source location's path names what it is of.
FILE: Sequence[tuple[str, int]] = (("message_type", 4), ("enum_type", 5), ("service", 6), ("extension", 7))
MESSAGE: Sequence[tuple[str, int]] = (("field", 2), ("nested_type", 3), ("enum_type", 4), ("oneof_decl", 8))
ENUM: Sequence[tuple[str, int]] = (("value", 2),)
SERVICE: Sequence[tuple[str, int]] = (("method", 2),)


def members(parent: Any) -> Sequence[tuple[str, int]]:
    kinds: dict[type[Any], Sequence[tuple[str, int]]] = {
        descriptor_pb2.FileDescriptorProto: FILE,
        descriptor_pb2.DescriptorProto: MESSAGE,
        descriptor_pb2.EnumDescriptorProto: ENUM,
        descriptor_pb2.ServiceDescriptorProto: SERVICE,
    }
    return kinds.get(type(parent), ())


def named(parent: Any, prefix: str, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], str]]:
    """Everything in a descriptor that has a name: where it stands in the file, and what it is called in full."""
    for attribute, number in members(parent):
        for index, child in enumerate(getattr(parent, attribute)):
            here = (*path, number, index)
            yield here, f"{prefix}.{child.name}"
            yield from named(child, f"{prefix}.{child.name}", here)


@cache
def comments() -> dict[str, str]:
    """The comment over each message, field, enum, value, service and method, as one line."""
    beside = Path(sys.executable).with_name("buf")
    buf = str(beside) if beside.exists() else shutil.which("buf") or "buf"
    image = subprocess.run([buf, "build", "-o", "-"], cwd=ROOT, capture_output=True, check=True).stdout
    found = {}
    for file in descriptor_pb2.FileDescriptorSet.FromString(image).file:
        if not file.package.startswith("transcript."):
            continue
        leading = {tuple(place.path): place.leading_comments for place in file.source_code_info.location}
        for path, name in named(file, file.package, ()):
            found[name] = " ".join(leading.get(path, "").split())
    return found
