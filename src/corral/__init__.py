"""Corral: say what to collect; it decides how, runs it, and records what happened."""

__version__ = "0.1.0"
