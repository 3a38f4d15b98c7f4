"""Crawls: columns for further options about items, hosts and templates."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    for column in (
        sa.Column("kind", sa.Text, nullable=False, server_default="page"),
        sa.Column("losses", sa.Integer, nullable=False, server_default="0"),
        sa.Column("version", sa.Text),
        sa.Column("change", sa.Text),
        sa.Column("lastmod", sa.Text),
    ):
        op.add_column("items", column)
    for column in (
        sa.Column("suspects", sa.Integer, nullable=False, server_default="0"),
        sa.Column("dropped", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("copied", sa.BigInteger, nullable=False, server_default="0"),
    ):
        op.add_column("crawls", column)
    for name, columns, condition in (
        ("items_held", ["run_id", "message"], "state = 'skipped' AND message IS NOT NULL"),
        ("items_suspect", ["run_id", "losses"], "state = 'pending' AND losses > 0"),
    ):
        where = sa.text(condition)
        op.create_index(name, "items", columns, sqlite_where=where, postgresql_where=where)
    op.create_table(
        "crawl_hosts",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("host", sa.Text, primary_key=True),
        sa.Column("pages", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "crawl_templates",
        sa.Column("run_id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("tally", sa.Text, nullable=False),
    )
