"""Submit and execute runs: use cases, the node, its workers, and the handling of outcomes."""
