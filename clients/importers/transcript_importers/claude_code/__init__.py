"""Reads the logs that Claude Code keeps of its sessions. Pure: nothing here speaks to a server."""

from transcript_importers.claude_code.log import Log, LogContents, SessionRows, read_log
from transcript_importers.claude_code.recognition import NotALog

__all__ = ["Log", "LogContents", "NotALog", "SessionRows", "read_log"]
