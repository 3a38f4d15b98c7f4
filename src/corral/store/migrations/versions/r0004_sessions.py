"""Sealed sessions of jobs, and interventions that wait for a person."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("job_id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("kid", sa.Text, nullable=False),
        sa.Column("wrapped_key", sa.Text, nullable=False),
        sa.Column("box", sa.Text, nullable=False),
        sa.Column("about", sa.Text().with_variant(JSONB(), "postgresql"), nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("checked_at", sa.BigInteger),
        sa.Column("check_result", sa.Text),
    )
    op.create_index("sessions_by_job", "sessions", ["job_id", "name"], unique=True)
    op.create_table(
        "interventions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("job_id", sa.Text),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("url", sa.Text),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("resolved_at", sa.BigInteger),
    )
    op.create_index("interventions_by_run", "interventions", ["run_id"])
    op.create_index(
        "interventions_open",
        "interventions",
        ["id"],
        sqlite_where=sa.text("status = 'open'"),
        postgresql_where=sa.text("status = 'open'"),
    )
