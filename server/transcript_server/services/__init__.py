"""The gRPC services: they take requests apart, ask the rules and the journal, and put answers together."""
