"""Templates: groups of URLs of one shape, and how a crawl recognises those that never end."""
