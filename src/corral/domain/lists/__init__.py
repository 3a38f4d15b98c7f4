"""Lists over several pages: how the next page is found, and what was listed so far."""
