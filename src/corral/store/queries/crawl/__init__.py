"""The frontier of crawls."""
