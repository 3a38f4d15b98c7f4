"""Artifacts of runs (screenshots and HTML of failed pages), and the key that seals the proxy of a job."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "artifacts",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_index("artifacts_by_run", "artifacts", ["run_id"])
    op.add_column("interventions", sa.Column("screenshot", sa.Text))
    op.add_column("jobs", sa.Column("proxy_kid", sa.Text))
    op.create_index(
        "jobs_by_proxy_kid",
        "jobs",
        ["proxy_kid", "id"],
        sqlite_where=sa.text("proxy_kid IS NOT NULL"),
        postgresql_where=sa.text("proxy_kid IS NOT NULL"),
    )
