"""Speed, measured against goals: `python -m bench` (docs/speed.md).

A goal is a ratio of two things that take turns in one run, so that a busy machine slows both alike. The service
runs as its users run it: a server in a process of its own, called by the Python client over real gRPC.
"""
