"""The databases of the store: the lease of the loop is in them."""

from tests.store.conftest import migrated_postgres, open_postgres, postgres_url, store, table_cleaner, url

__all__ = ["migrated_postgres", "open_postgres", "postgres_url", "store", "table_cleaner", "url"]
