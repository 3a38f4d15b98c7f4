"""The queue of scraper tasks: what a task is, which tasks may start, and how a drain went. Pure."""
