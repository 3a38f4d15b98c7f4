"""Execution of workflow steps outside of worker processes."""
