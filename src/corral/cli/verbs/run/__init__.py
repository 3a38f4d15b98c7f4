"""`corral run`, `corral events`, `corral records`."""
