"""Moving an installation from SQLite to PostgreSQL."""
