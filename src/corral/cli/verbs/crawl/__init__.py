"""`corral crawl` and `corral why`."""
