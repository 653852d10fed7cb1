"""What is the embedded store's own: its file, its one writer, its query plans."""
