"""Scripts of the user: the registry of scrapers, and the processes that execute scripts."""
