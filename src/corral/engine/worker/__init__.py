"""The process that executes runs."""
