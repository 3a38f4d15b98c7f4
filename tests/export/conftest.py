from tests.store.conftest import migrated_postgres, postgres_connection, postgres_url, shared_url

__all__ = ["migrated_postgres", "postgres_connection", "postgres_url", "shared_url"]
