"""What the services add to the rules and the journal: calls, errors, logs, streams, draining."""
