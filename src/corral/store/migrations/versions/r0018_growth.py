"""Order deferred URLs by the growth of their templates."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.add_column("crawl_templates", sa.Column("growth", sa.Double, nullable=False, server_default="0"))
    op.drop_index("items_deferred", "items")
    condition = sa.text("state = 'deferred'")
    columns = ["run_id", "message", "rank", "id"]
    op.create_index("items_deferred", "items", columns, sqlite_where=condition, postgresql_where=condition)
