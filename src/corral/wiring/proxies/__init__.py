"""The proxy pool: its configuration, and what Python programs do with it."""
