"""Sections: what the collapsing marker hides (rules 12 and 13)."""

from __future__ import annotations

from collections.abc import Sequence

from transcript.v1.transcript_service_pb2 import HiddenSections
from transcript_server.rules.limits import HIDDEN_LABELS


def hidden_sections(marker: int, ordinal: int, labels: Sequence[str], *, opening: bool) -> HiddenSections:
    """The bar over a transcript: a section for each marker before the collapsing one, and the opening one if it counts.

    Args:
        marker: The collapsing marker's row.
        ordinal: Its place among the session's markers, from 1.
        labels: The labels of the latest markers before it, at most 32, oldest first.
        opening: Whether the unnamed opening section counts: it holds a row of a kept kind.
    """
    named = [""] * (opening and len(labels) == ordinal - 1) + list(labels)
    return HiddenSections(count=ordinal - 1 + opening, labels=named[-HIDDEN_LABELS:], marker_sequence=marker)
