"""Routes of the proxy pool."""
