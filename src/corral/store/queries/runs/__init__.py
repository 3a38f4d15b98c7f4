"""Runs: claims, leases, events, queues, retention."""
