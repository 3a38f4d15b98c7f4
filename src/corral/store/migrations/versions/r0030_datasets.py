"""Tables of dataset builds."""

import sqlalchemy as sa
from alembic import op

from corral.store.table_types import Document, Millis

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.create_table(
        "dataset_builds",
        sa.Column("build", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("progress", Document, nullable=False),
        sa.Column("updated_at", Millis, nullable=False),
    )
    op.create_table(
        "dataset_images",
        sa.Column("build", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("url", "category", "keyword", "page_url", "caption")),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("source", "state", "reason")),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("due_at", Millis, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("pack", sa.Text, nullable=False),
        sa.Column("start", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("recipe", sa.Text, nullable=False),
        sa.Column("is_indexed", sa.SmallInteger, nullable=False),
        sa.Column("duplicate_of", sa.Text, nullable=False),
        sa.Column("distance", sa.Integer, nullable=False),
        sa.Column("facts", Document, nullable=False),
    )
    op.create_index("dataset_images_by_state", "dataset_images", ["build", "state", "due_at"])
    op.create_table(
        "dataset_pairs",
        *(sa.Column(name, sa.Text, primary_key=True) for name in ("build", "first", "second")),
        sa.Column("distance", sa.Integer, nullable=False),
    )
