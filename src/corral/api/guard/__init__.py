"""Checks of every request before a route handles it."""
