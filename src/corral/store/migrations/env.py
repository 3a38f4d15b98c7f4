"""Alembic's entry point: `corral.store.schema` always provides the connection."""

from alembic import context

from corral.store.indexes import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
