"""Where secrets will be taken out of a row: before its first copy is made.

A redactor changes a row in place. Intake calls it after the row's checks and its hash (a retry must meet the
hash of what was sent) and before anything stores, indexes or logs it.
"""

from __future__ import annotations

from collections.abc import Callable

from transcript.v1.event_pb2 import Event

Redactor = Callable[[Event], None]
