"""Host limits, and the runs that wait for a host."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "hosts",
        sa.Column("place", sa.Text, primary_key=True),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("opened_at", sa.BigInteger),
        sa.Column("probed_at", sa.BigInteger),
        sa.Column("blocked_until", sa.BigInteger, nullable=False),
        sa.Column("concurrency", sa.Integer),
        sa.Column("delay_ms", sa.Integer),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    op.create_index("hosts_changed", "hosts", ["updated_at"])
    op.add_column("runs", sa.Column("waiting_reason", sa.Text))
    op.add_column("runs", sa.Column("waiting_host", sa.Text))
    where = sa.text("waiting_host IS NOT NULL")
    columns = ["waiting_host", "priority", "id"]
    op.create_index("runs_waiting", "runs", columns, sqlite_where=where, postgresql_where=where)
