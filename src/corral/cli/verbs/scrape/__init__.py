"""`corral scrape`."""
