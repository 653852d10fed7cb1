"""The contract that every store of journals keeps, and in `sqlite/` what is the embedded store's own."""
