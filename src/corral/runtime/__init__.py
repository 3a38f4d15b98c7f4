"""Basics of every process: start, locks, heartbeats, private files."""
