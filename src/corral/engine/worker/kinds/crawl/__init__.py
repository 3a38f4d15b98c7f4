"""The run kind `crawl`."""
