"""Migration of an installation from SQLite to PostgreSQL."""
