"""The process that claims runs and settles their outcomes."""
