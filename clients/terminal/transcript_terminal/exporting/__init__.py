"""Sessions as files: Markdown and a web page for people, JSON lines for programs. Written as it is read."""
