"""`corral session`."""
