"""`corral proxy`: the proxy pool."""
