"""The options of a run, typed by the kind of the run. Crawls have theirs in `domain.crawl.payload`."""
