"""Exports: the records of a run in order, and the archived pages of crawls."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_index("records_in_order", "records", ["run_id", "id"])
    op.create_table(
        "pages",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("item_key", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("asked_url", sa.Text),
        sa.Column("http_status", sa.Integer, nullable=False),
        sa.Column("headers", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("fetched_at", sa.BigInteger, nullable=False),
    )
    op.create_index("pages_by_key", "pages", ["run_id", "item_key"], unique=True)
    op.create_index("pages_in_order", "pages", ["run_id", "id"])
