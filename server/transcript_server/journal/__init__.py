"""The journal's store: its port (`journal`), wake-ups (`hub`), and the embedded store (`sqlite`)."""
