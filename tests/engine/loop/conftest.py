"""The databases of the store: the lease of the loop is in them."""

from tests.store.conftest import migrated_postgres, postgres_connection, postgres_url, store, url

__all__ = ["migrated_postgres", "postgres_connection", "postgres_url", "store", "url"]
