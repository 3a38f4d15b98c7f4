"""How well bare names are filled on recorded pages. `make eval` prints the figures and the misses."""
