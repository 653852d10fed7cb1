"""The pure rules, each by itself: no server, no store, no clock."""
