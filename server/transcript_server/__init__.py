"""The transcript service: one append-only journal per session, served over gRPC.

Imports go one way: rules (pure) → journal (store) → services (gRPC) → app, which puts the parts together.
"""
