"""The queue of scraper tasks, as Corral and as scrapyd name it."""
