"""Workflows, and runs that only the process of their caller executes."""

import sqlalchemy as sa
from alembic import op

from corral.store.table_types import Document, Millis

revision = "0027"
down_revision = "0026"

_CLAIMABLE = "state = 'queued' AND waiting_host IS NULL AND suspect = 0"
_LIGHT = (
    f"{_CLAIMABLE} AND resolved_strategy <> 'browser'"
    " AND kind <> 'crawl' AND kind <> 'crawl_helper' AND kind <> 'script' AND kind <> 'local'"
)


def upgrade() -> None:
    op.create_table(
        "workflow_definitions",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("document", Document, nullable=False),
        sa.Column("created_at", Millis, nullable=False),
    )
    op.create_table(
        "workflows",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("job_id", sa.Text),
        sa.Column("priority", sa.SmallInteger, nullable=False),
        sa.Column("recoveries", sa.Integer, nullable=False),
        sa.Column("max_recoveries", sa.Integer, nullable=False),
        sa.Column("setup", Document, nullable=False),
        sa.Column("created_at", Millis, nullable=False),
    )
    op.create_table(
        "workflow_steps",
        sa.Column("workflow_id", sa.Text, primary_key=True),
        sa.Column("step_key", sa.Text, primary_key=True),
        sa.Column("item", sa.Integer, primary_key=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text),
        sa.Column("runs", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("output", Document),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("started_at", Millis),
        sa.Column("ended_at", Millis),
    )
    op.create_index("workflow_definitions_by_digest", "workflow_definitions", ["name", "digest"], unique=True)
    op.create_index("workflows_by_run", "workflows", ["run_id"], unique=True)
    op.create_index("workflows_by_job", "workflows", ["job_id", "id"])
    op.create_index("workflow_steps_by_run", "workflow_steps", ["run_id"])
    _create_index("workflow_steps_started", "workflow_steps", ["workflow_id", "step_key", "item"], "state = 'started'")
    op.drop_index("runs_queued_light", "runs")
    _create_index("runs_queued_light", "runs", ["priority", "due_at", "id"], _LIGHT)


def _create_index(name: str, table: str, columns: list[str], where: str) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)
