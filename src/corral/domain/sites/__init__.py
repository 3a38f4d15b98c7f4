"""Knowledge about sites: memory, statistics, sessions."""
