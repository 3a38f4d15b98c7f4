"""Runs: states, events, outcomes, retries, claims, queues."""
