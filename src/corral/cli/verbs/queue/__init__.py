"""`corral queue`: tasks for scraper scripts, by priority."""
