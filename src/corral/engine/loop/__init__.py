"""The autonomous loop of a node."""
