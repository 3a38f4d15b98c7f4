"""The tables of workflows: see domain/workflows."""

import sqlalchemy as sa

from corral.store.table_types import Document, Millis, metadata

# The versions under each name. A definition that was used before keeps its number.
workflow_definitions = sa.Table(
    "workflow_definitions",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("document", Document, nullable=False),
    sa.Column("created_at", Millis, nullable=False),
)

# A workflow outlives its runs: each recovery is a new run, because an ended run never changes.
workflows = sa.Table(
    "workflows",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),  # id of its first run
    sa.Column("run_id", sa.Text, nullable=False),  # its latest run, the parent of newly started steps
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("job_id", sa.Text),  # the caller's own name for it
    sa.Column("priority", sa.SmallInteger, nullable=False),
    sa.Column("recoveries", sa.Integer, nullable=False),
    sa.Column("max_recoveries", sa.Integer, nullable=False),
    sa.Column("setup", Document, nullable=False),  # see domain.workflows.kinds.spec.StepContext
    sa.Column("created_at", Millis, nullable=False),
)

workflow_steps = sa.Table(
    "workflow_steps",
    metadata,
    sa.Column("workflow_id", sa.Text, primary_key=True),
    sa.Column("step_key", sa.Text, primary_key=True),
    sa.Column("item", sa.Integer, primary_key=True),  # index of a for_each item; -1 for the step itself
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),  # its latest child run
    sa.Column("runs", sa.Integer, nullable=False),  # number of its child runs
    sa.Column("reason", sa.Text),
    sa.Column("output", Document),
    sa.Column("attempts", sa.Integer, nullable=False),  # of its latest child run, at its end
    sa.Column("started_at", Millis),
    sa.Column("ended_at", Millis),
)

_STARTED = sa.text("state = 'started'")
sa.Index("workflow_definitions_by_digest", workflow_definitions.c.name, workflow_definitions.c.digest, unique=True)
sa.Index("workflows_by_run", workflows.c.run_id, unique=True)
sa.Index("workflows_by_job", workflows.c.job_id, workflows.c.id)
sa.Index(
    "workflow_steps_started",
    workflow_steps.c.workflow_id,
    workflow_steps.c.step_key,
    workflow_steps.c.item,
    sqlite_where=_STARTED,
    postgresql_where=_STARTED,
)
sa.Index("workflow_steps_by_run", workflow_steps.c.run_id)
