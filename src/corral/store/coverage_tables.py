"""The tables of reconciliation and of the loop: see domain/coverage and domain/loop."""

import sqlalchemy as sa

from corral.store.table_types import Document, Millis, metadata

# The gaps that each task closes. They remain known here after a task is purged from the queue.
coverage_tasks = sa.Table(
    "coverage_tasks",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("gap_keys", Document, nullable=False),  # pairs of a key and its value in the batched dimension
    sa.Column("created_at", Millis, nullable=False),
)

coverage_absences = sa.Table(
    "coverage_absences",
    metadata,
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("confirmations", sa.Integer, nullable=False),
    sa.Column("first_at", Millis, nullable=False),
    sa.Column("last_at", Millis, nullable=False),
    sa.Column("run_id", sa.Text),  # run of the last note: two notes of one run count once
    sa.Column("evidence", Document, nullable=False),
)

coverage_reports = sa.Table(
    "coverage_reports",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),  # sorts by age
    sa.Column("run_id", sa.Text),
    sa.Column("created_at", Millis, nullable=False),
    sa.Column("document", Document, nullable=False),
)

# The autonomous loop: one row, `main`.
loops = sa.Table(
    "loops",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("is_on", sa.SmallInteger, nullable=False),
    sa.Column("every_s", sa.Double, nullable=False),
    sa.Column("windows", Document, nullable=False),
    sa.Column("owner", sa.Text),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("lease_until", Millis, nullable=False),  # on the steady clock
    sa.Column("next_at", Millis, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("failures", sa.Integer, nullable=False),
    sa.Column("last", Document, nullable=False),
)

sa.Index("coverage_tasks_by_source", coverage_tasks.c.source)
sa.Index("coverage_reports_by_run", coverage_reports.c.run_id)
