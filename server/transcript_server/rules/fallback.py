"""The line that stands for a row in a client that does not know its kind (rule 6)."""

from __future__ import annotations

from transcript.v1.event_pb2 import Event
from transcript_server.rules.facts import FIRST_KINDS, Kind


def fallback(event: Event, kind: Kind) -> str:
    """The row's fallback: a line for kinds without text of their own, and for every kind newer than v1's first."""
    if kind.elidable and kind.number in FIRST_KINDS:
        return ""
    match kind.name:
        case "section_marker":
            label = event.section_marker.label
            return f"— Section: {label} —" if label else "— Section —"
        case "turn_ended":
            outcome = event.turn_ended.Outcome.Name(event.turn_ended.outcome).removeprefix("OUTCOME_").lower()
            return "Turn ended" if not event.turn_ended.outcome else f"Turn {outcome}"
        case "error_report":
            return _line("Error", event.error_report.message or event.error_report.reason)
        case "status":
            return _line("Status", event.status.text)
        case "subagent_started":
            return _line("Background agent started", event.subagent_started.name or event.subagent_started.subagent_id)
        case "subagent_terminated":
            return _line("Background agent stopped", event.subagent_terminated.reason)
        case "compaction_ended":
            return "Compaction ended" if event.compaction_ended.landed else "Compaction ended without effect"
        case "context_reset":
            return _line("Model's context emptied", event.context_reset.reason)
        case "rewind":
            return _line(f"Went back to row {event.rewind.after_sequence}", event.rewind.reason)
        case "session_forked":
            forked = event.session_forked
            return f"Copied from session {' '.join(forked.session_id.split())} up to row {forked.sequence}"
        case _:
            return kind.name.replace("_", " ").capitalize()


def _line(what: str, detail: str) -> str:
    return f"{what}: {' '.join(detail.split())}" if detail.strip() else what
