"""Whether a file is a Claude Code log at all, and if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transcript_importers.claude_code.fields import mapping, string

if TYPE_CHECKING:
    from transcript_importers.claude_code.entry import Entry
    from transcript_importers.claude_code.lines import RecordReader

_CONVERSATION = {"user", "assistant", "system", "attachment", "progress"}
_SHOWN_KEYS = 5


class NotALog(Exception):  # noqa: N818 - it says what the file is, not that something broke
    """The file is no Claude Code log; the text says why."""


def is_ours(entry: Entry) -> bool:
    """Whether only Claude Code writes an entry like this."""
    value = entry.value
    match entry.kind:
        case kind if kind in _CONVERSATION and entry.uuid:
            return True
        case "summary":
            return bool(string(value, "leafUuid"))
        case "file-history-snapshot":
            return bool(mapping(value, "snapshot"))
        case kind:
            return bool(kind and entry.session_id and "payload" not in value)


def is_array(reader: RecordReader) -> bool:
    """Whether the file is one JSON array: of its objects a reader of lines would find the last one at most."""
    return reader.first_text.split() == ["["] or reader.first_text.lstrip().startswith(("[{", "[ {", "[]"))


def refusal(reader: RecordReader, entries: list[Entry]) -> NotALog:
    """Why a file, read so far without an entry that is ours, is none.

    Args:
        reader: What read the file.
        entries: The objects found in it.
    """
    if not reader.lines:
        return NotALog("the file is empty")
    if is_array(reader):
        return NotALog("a JSON array, not one JSON object per line")
    if entries:
        keys = ", ".join(sorted(entries[0].value)[:_SHOWN_KEYS]) or "no keys"
        return NotALog(f"no row of Claude Code among its JSON objects; the first has {keys}")
    if "\0" in reader.first_text or "\N{REPLACEMENT CHARACTER}" in reader.first_text:
        return NotALog("binary data, not lines of JSON")
    return NotALog("not one line holds a JSON object")
