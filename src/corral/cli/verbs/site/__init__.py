"""`corral site`."""
