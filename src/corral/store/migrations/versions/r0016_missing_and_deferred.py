"""Missing pages, and URLs that are fetched after all others."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    for name in ("missing", "deferred"):
        op.add_column("crawls", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
    _index("items_deferred", ["run_id", "rank", "id"], "state = 'deferred'")
    _index("items_missing", ["run_id", "id"], "state = 'missing'")
    # No query looks for skipped items by template any more.
    op.drop_index("items_held", "items")


def _index(name: str, columns: list[str], where: str) -> None:
    condition = sa.text(where)
    op.create_index(name, "items", columns, sqlite_where=condition, postgresql_where=condition)
