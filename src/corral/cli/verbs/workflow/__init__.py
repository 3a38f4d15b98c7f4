"""`corral workflow`."""
