"""Killable parser processes."""
