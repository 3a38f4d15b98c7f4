"""Submitting runs and executing them: the node, its workers, and what happens to an outcome."""
