"""Sections: what the collapsing marker hides (rules 12 and 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from transcript.v1.transcript_service_pb2 import HiddenSections
from transcript_server.rules.limits import HIDDEN_LABELS


@dataclass(frozen=True, slots=True)
class CollapsingMarker:
    """The marker that hides what lies before it.

    Attributes:
        sequence: Its row.
        ordinal: Its place among the session's markers, from 1.
    """

    sequence: int
    ordinal: int


def hidden_count(marker: CollapsingMarker, *, opening: bool) -> int:
    """How many sections a collapsing marker hides: one for each marker before it, and the opening one if it counts."""
    return marker.ordinal - 1 + opening


def hidden_sections(marker: CollapsingMarker, labels: Sequence[str], *, opening: bool) -> HiddenSections:
    """The bar over a transcript.

    Args:
        marker: The collapsing marker.
        labels: The labels of the latest markers before it, at most 32, oldest first.
        opening: Whether the unnamed opening section counts: it holds a row of a kept kind.
    """
    count = hidden_count(marker, opening=opening)
    named = [""] * (opening and len(labels) == marker.ordinal - 1) + list(labels)
    return HiddenSections(count=count, labels=named[-HIDDEN_LABELS:], marker_sequence=marker.sequence)
