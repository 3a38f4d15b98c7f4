"""The databases of the store, for reconciliations over both."""

from tests.store.conftest import migrated_postgres, open_postgres, postgres_url, store, table_cleaner, url

__all__ = ["migrated_postgres", "open_postgres", "postgres_url", "store", "table_cleaner", "url"]
