"""Passages on a terminal or in a pipe. Here untrusted text is made safe, once, at the last moment."""
