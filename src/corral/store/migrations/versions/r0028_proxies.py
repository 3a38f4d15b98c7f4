"""The proxy pool."""

import sqlalchemy as sa
from alembic import op

from corral.store.table_types import Document, Millis

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.create_table(
        "proxies",
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("identity", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("sealed", sa.Text),
        sa.Column("kid", sa.Text),
        sa.Column("tier", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("score", sa.Double, nullable=False),
        sa.Column("found", Document, nullable=False),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("cools", sa.Integer, nullable=False),
        sa.Column("cooled_until", Millis),
        sa.Column("uses", sa.BigInteger, nullable=False),
        sa.Column("successes", sa.BigInteger, nullable=False),
        sa.Column("checked_at", Millis),
        sa.Column("created_at", Millis, nullable=False),
    )
    op.create_table(
        "proxy_sites",
        sa.Column("proxy_id", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("site", sa.Text, primary_key=True),
        sa.Column("good", sa.Double, nullable=False),
        sa.Column("bad", sa.Double, nullable=False),
        sa.Column("updated_at", Millis, nullable=False),
    )
    op.create_table(
        "proxy_refreshes",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("created_at", Millis, nullable=False),
        sa.Column("chunk_runs", Document),
        sa.Column("completed_at", Millis),
        sa.Column("result_count", sa.Integer),
    )
    op.create_index("proxies_by_identity", "proxies", ["identity"], unique=True)
    op.create_index("proxies_by_state", "proxies", ["state", "score"])
