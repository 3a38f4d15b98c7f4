"""Corral: say what to collect; it decides how, runs it and proves what happened."""

__version__ = "0.1.0"
