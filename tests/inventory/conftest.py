"""The databases of the store, for reconciliations over both."""

from tests.store.conftest import migrated_postgres, postgres_connection, postgres_url, store, url

__all__ = ["migrated_postgres", "postgres_connection", "postgres_url", "store", "url"]
