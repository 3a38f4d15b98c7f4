"""Configurations of sites, campaigns, channels of alerts, and the costs of crawls."""

import sqlalchemy as sa
from alembic import op

from corral.store.table_types import Document, Millis

revision = "0029"
down_revision = "0028"

_SPENT = ("requests", "browser_ms", "cpu_ms")


def upgrade() -> None:
    op.create_table(
        "site_configs",
        sa.Column("site", sa.Text, primary_key=True),
        sa.Column("document", Document, nullable=False),
        sa.Column("updated_at", Millis, nullable=False),
    )
    op.create_table(
        "campaigns",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("created_at", Millis, nullable=False),
        sa.Column("ended_at", Millis),
        sa.Column("report", Document),
    )
    op.create_table(
        "campaign_sites",
        sa.Column("campaign_id", sa.Text, primary_key=True),
        sa.Column("site", sa.Text, primary_key=True),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("waits_for", Document, nullable=False),
        sa.Column("released_at", Millis),
    )
    op.create_table(
        "alert_channels",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("rules", Document, nullable=False),
        sa.Column("shown", sa.Text, nullable=False),
        sa.Column("sealed", sa.Text, nullable=False),
        sa.Column("kid", sa.Text, nullable=False),
        sa.Column("updated_at", Millis, nullable=False),
    )
    for table, names in (("crawls", ("took_ms", *_SPENT)), ("site_statistics", _SPENT)):
        for name in names:
            op.add_column(table, sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
    is_open = sa.text("ended_at IS NULL")
    op.create_index("campaigns_open", "campaigns", ["id"], sqlite_where=is_open, postgresql_where=is_open)
    op.create_index("campaign_sites_by_run", "campaign_sites", ["run_id"])
