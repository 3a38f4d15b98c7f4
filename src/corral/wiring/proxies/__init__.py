"""The proxy pool: its configuration, its file for other programs, and its functions for Python programs."""
