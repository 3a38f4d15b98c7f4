"""The proxy pool while it is used: what a worker asks its node for, and how the node chooses."""
