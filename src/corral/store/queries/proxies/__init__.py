"""The proxy pool in the database."""
