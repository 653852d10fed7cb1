"""What the rows of a journal mean, as pure functions: no I/O, no clock, no gRPC."""
