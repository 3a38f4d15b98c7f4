"""One store contract over SQLite and PostgreSQL. Every method of a store group is one transaction."""
