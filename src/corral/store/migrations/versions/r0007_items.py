"""Crawls: the items of a run, and their number in each state."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


_LANES = {
    "light": "resolved_strategy <> 'browser' AND kind <> 'crawl'",
    "browser": "resolved_strategy = 'browser' AND kind <> 'crawl'",
    "crawl": "kind = 'crawl'",
}


def upgrade() -> None:
    for lane, what in _LANES.items():
        if lane != "crawl":
            op.drop_index(f"runs_queued_{lane}", "runs")
        where = sa.text(f"state = 'queued' AND {what}")
        columns = ["priority", "due_at", "id"]
        op.create_index(f"runs_queued_{lane}", "runs", columns, sqlite_where=where, postgresql_where=where)
    op.create_table(
        "items",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("url_key", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("rank", sa.Double, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("due_at", sa.BigInteger, nullable=False),
        sa.Column("parent", sa.BigInteger),
        sa.Column("reason", sa.Text),
        sa.Column("message", sa.Text),
        sa.Column("http_status", sa.Integer),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    op.create_index("items_by_key", "items", ["run_id", "url_key"], unique=True)
    for name, columns, state in (
        ("items_pending", ["run_id", "due_at", "rank", "id"], "pending"),
        ("items_failed", ["run_id", "id"], "failed"),
        ("items_leased", ["run_id", "depth"], "leased"),
    ):
        where = sa.text(f"state = '{state}'")
        op.create_index(name, "items", columns, sqlite_where=where, postgresql_where=where)
    op.create_table(
        "crawls",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("pending", sa.BigInteger, nullable=False),
        sa.Column("leased", sa.BigInteger, nullable=False),
        sa.Column("done", sa.BigInteger, nullable=False),
        sa.Column("failed", sa.BigInteger, nullable=False),
        sa.Column("skipped", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("current_url", sa.Text),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
