"""`corral job`."""
