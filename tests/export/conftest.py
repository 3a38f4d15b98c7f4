from tests.store.conftest import migrated_postgres, postgres_url, shared_url, table_cleaner

__all__ = ["migrated_postgres", "postgres_url", "shared_url", "table_cleaner"]
