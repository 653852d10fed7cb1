"""The design's numbered rules, tested over the wire against a naive model that knows nothing of the server."""
