"""The proxy pool in use: the requests of workers, and how the node chooses."""
