"""`corral record` and `corral test`: pages stored as tests of an extraction."""
