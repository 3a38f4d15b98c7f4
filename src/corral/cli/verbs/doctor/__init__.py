"""`corral doctor`."""
