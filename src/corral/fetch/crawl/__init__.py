"""Request, render and save the pages of a crawl."""
