"""Reads the files that `transcript export --format jsonl` writes: a session's journal, a row a line."""
