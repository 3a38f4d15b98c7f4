"""`corral loop`: find what is missing and collect it, by itself."""
