"""The embedded store: one SQLite file, one process."""

from transcript_server.journal.sqlite.store import SqliteJournal

__all__ = ["SqliteJournal"]
