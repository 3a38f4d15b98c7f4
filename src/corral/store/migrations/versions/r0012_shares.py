"""Crawls that several workers share, each with its own hosts."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "crawl_shares",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("number", sa.SmallInteger, primary_key=True),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("at_once", sa.Integer, nullable=False),
        sa.Column("target", sa.Integer, nullable=False),
        sa.Column("hungry", sa.SmallInteger, nullable=False),
        sa.Column("done", sa.SmallInteger, nullable=False),
    )
    op.create_table(
        "crawl_pins",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("place", sa.Text, primary_key=True),
        sa.Column("share", sa.SmallInteger, nullable=False),
        sa.Column("news", sa.SmallInteger, nullable=False),
    )
    _index("crawl_pins_news", "crawl_pins", ["run_id"], "news > 0")
    op.add_column("crawls", sa.Column("shared", sa.SmallInteger, nullable=False, server_default="0"))
    op.add_column("items", sa.Column("share", sa.SmallInteger, nullable=False, server_default="0"))
    _index("items_next", "items", ["run_id", "share", "due_at", "rank", "id"], "state = 'pending'")
    # Every query for the next item now names a share.
    op.drop_index("items_pending", "items")
    # Crawl helpers are claimed separately and wait in no ordinary queue.
    op.drop_index("runs_queued_light", "runs")
    light = "state = 'queued' AND resolved_strategy <> 'browser' AND kind <> 'crawl' AND kind <> 'share'"
    _index("runs_queued_light", "runs", ["priority", "due_at", "id"], light)
    _index("runs_queued_share", "runs", ["priority", "due_at", "id"], "state = 'queued' AND kind = 'share'")


def _index(name: str, table: str, columns: list[str], where: str) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)
