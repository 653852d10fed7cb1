"""What the model says where the server must refuse."""

from __future__ import annotations

from collections.abc import Mapping

import grpc


class Refused(Exception):  # noqa: N818 - it is an outcome, not a fault
    """A call is refused: nothing of it is written."""

    def __init__(self, code: grpc.StatusCode, reason: str, metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{code.name} / {reason} {dict(metadata or {})}")
        self.code = code
        self.reason = reason
        self.metadata = dict(metadata or {})
