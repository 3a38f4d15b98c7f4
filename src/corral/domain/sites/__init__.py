"""What is known about sites: memory, statistics, sessions."""
