"""What `transcript demo` shows, and the samples it is made of."""
