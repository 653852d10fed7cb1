"""Page tokens: where the next page of a list begins, opaque to clients.

A token is bound to the other arguments of the call that made it, and to this store: one that was made up, or
is sent with other arguments, is an INVALID_FIELD. It carries no authorization.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import Final

from google.protobuf.message import Message

from transcript_server.rules.errors import invalid_field

_SEAL_BYTES: Final = 8


class Tokens:
    """Makes and reads page tokens; `secret` is the store's."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def make(self, request: Message, *numbers: int) -> str:
        """The token for the page after a place that is given by numbers."""
        place = struct.pack(f">{len(numbers)}q", *numbers)
        return base64.urlsafe_b64encode(self._seal(request, place) + place).decode().rstrip("=")

    def read(self, request: Message, token: str, count: int) -> tuple[int, ...]:
        """The `count` numbers of a token that was made for such a request.

        Raises:
            Refusal: INVALID_FIELD.
        """
        try:
            data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
            numbers = struct.unpack(f">{count}q", data[_SEAL_BYTES:])
        except (ValueError, struct.error):
            numbers = ()
        # Made anew and compared as a whole: what decodes alike and is written otherwise is no token of ours.
        if not numbers or token != self.make(request, *numbers):
            raise invalid_field("page_token", "is not one that a call with these arguments returned")
        return numbers

    def _seal(self, request: Message, place: bytes) -> bytes:
        arguments = type(request)()
        arguments.CopyFrom(request)
        for name in ("page_token", "page_size"):
            arguments.ClearField(name)
        arguments_bytes = arguments.SerializeToString(deterministic=True)
        bound_to = request.DESCRIPTOR.full_name.encode() + b"\0" + place + arguments_bytes
        return hashlib.blake2b(bound_to, key=self._secret, digest_size=_SEAL_BYTES).digest()
