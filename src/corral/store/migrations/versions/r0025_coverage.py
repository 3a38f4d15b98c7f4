"""Reconciliation: the tasks of gaps, permanent absences, and coverage reports."""

import sqlalchemy as sa
from alembic import op

from corral.store.table_types import Document, Millis

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.create_table(
        "coverage_tasks",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("gap_keys", Document, nullable=False),
        sa.Column("created_at", Millis, nullable=False),
    )
    op.create_table(
        "coverage_absences",
        sa.Column("source", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("confirmations", sa.Integer, nullable=False),
        sa.Column("first_at", Millis, nullable=False),
        sa.Column("last_at", Millis, nullable=False),
        sa.Column("run_id", sa.Text),
        sa.Column("evidence", Document, nullable=False),
    )
    op.create_table(
        "coverage_reports",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text),
        sa.Column("created_at", Millis, nullable=False),
        sa.Column("document", Document, nullable=False),
    )
    op.create_index("coverage_tasks_by_source", "coverage_tasks", ["source"])
    op.create_index("coverage_reports_by_run", "coverage_reports", ["run_id"])
