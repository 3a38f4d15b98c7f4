"""Refreshes and checks of the proxy pool: use cases, calls of the runs, and the periodic work of a node."""
