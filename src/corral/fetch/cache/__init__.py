"""A private HTTP cache."""
