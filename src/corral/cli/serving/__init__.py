"""Serving until a signal arrives."""
