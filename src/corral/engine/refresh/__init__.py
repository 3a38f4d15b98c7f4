"""Refreshes and checks of the proxy pool: use cases, store calls of the runs, and the periodic work of a node."""
