"""Sites: memory, statistics, recipes, sessions."""
