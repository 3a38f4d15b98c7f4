"""Jobs, runs, events, records, schedules, idempotency keys."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None

_Document = sa.Text().with_variant(JSONB(), "postgresql")
# Spelled out: for IN (…), SQLite builds a temporary table for each row check, which costs more than the update.
_TERMINAL = "({0} = 'completed' OR {0} = 'partial' OR {0} = 'failed' OR {0} = 'cancelled')"


def upgrade() -> None:
    _create_jobs()
    _create_runs()
    _create_histories()
    _create_bookkeeping()
    _close_terminal_states()


def _create_jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("document", _Document, nullable=False),
        sa.Column("frequency", sa.Text, nullable=False),
        sa.Column("next_slot", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    _partial_index("jobs_by_slot", "jobs", ["next_slot"], "next_slot IS NOT NULL")


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("job_id", sa.Text),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("priority", sa.SmallInteger, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("max_attempts", sa.Integer, nullable=False),
        sa.Column("requested_strategy", sa.Text, nullable=False),
        sa.Column("resolved_strategy", sa.Text, nullable=False),
        sa.Column("payload", _Document, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("losses", sa.Integer, nullable=False, server_default="0"),
        sa.Column("suspect", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("due_at", sa.BigInteger, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("hold_reason", sa.Text),
        sa.Column("owner", sa.Text),
        sa.Column("lease_until", sa.BigInteger),
        sa.Column("started_at", sa.BigInteger),
        sa.Column("finished_at", sa.BigInteger),
        sa.Column("failure_code", sa.Text),
        sa.Column("failure_detail", sa.Text),
        sa.Column("error_message", sa.Text),
        sa.Column("stats", _Document, nullable=False, server_default="{}"),
        sa.Column("attempts", _Document, nullable=False, server_default="[]"),
        sa.Column("retry_of", sa.Text),
        sa.Column("parent_id", sa.Text),
        sa.Column("seq", sa.Integer, nullable=False),
        # A running run without a lease could never be taken back, so such a row is rejected.
        sa.CheckConstraint(
            "state <> 'running' OR (lease_until IS NOT NULL AND owner IS NOT NULL)", name="running_has_lease"
        ),
        sa.CheckConstraint("state <> 'held' OR hold_reason IS NOT NULL", name="held_has_reason"),
        sa.CheckConstraint(f"(finished_at IS NOT NULL) = {_TERMINAL.format('state')}", name="finished_is_terminal"),
        sa.CheckConstraint("attempt >= 1 AND attempt <= max_attempts", name="attempts_bounded"),
    )
    for lane, operator in (("light", "<>"), ("browser", "=")):
        condition = f"state = 'queued' AND resolved_strategy {operator} 'browser'"
        _partial_index(f"runs_queued_{lane}", "runs", ["priority", "due_at", "id"], condition)
    _partial_index("runs_leased", "runs", ["lease_until"], "state = 'running'")
    op.create_index("runs_by_job", "runs", ["job_id", "id"])


def _create_histories() -> None:
    op.create_table(
        "events",
        sa.Column(
            "position",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("meta", _Document, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        # Clients use positions as resume points, so the position of a pruned event must not be reused.
        sqlite_autoincrement=True,
    )
    op.create_index("events_by_run", "events", ["run_id", "seq"], unique=True)
    op.create_table(
        "records",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("job_id", sa.Text),
        sa.Column("item_key", sa.Text, nullable=False),
        sa.Column("data", _Document, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_index("records_by_run", "records", ["run_id", "item_key"], unique=True)
    op.create_index("records_by_job", "records", ["job_id", "id"])


def _create_bookkeeping() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("resource_id", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "schedule_slots",
        sa.Column("job_id", sa.Text, primary_key=True),
        sa.Column("slot", sa.BigInteger, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False),
    )
    op.create_table(
        "corral_meta",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )


def _partial_index(name: str, table: str, columns: list[str], condition: str) -> None:
    op.create_index(name, table, columns, sqlite_where=sa.text(condition), postgresql_where=sa.text(condition))


def _close_terminal_states() -> None:
    """Second check behind the guarded updates: no statement can change the state of a finished run."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            f"CREATE TRIGGER runs_terminal BEFORE UPDATE OF state ON runs WHEN {_TERMINAL.format('OLD.state')} "
            "BEGIN SELECT RAISE(ABORT, 'a finished run cannot change state'); END"
        )
        return
    op.execute(
        "CREATE FUNCTION corral_refuse_terminal() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'a finished run cannot change state'; END $$"
    )
    op.execute(
        "CREATE TRIGGER runs_terminal BEFORE UPDATE OF state ON runs FOR EACH ROW "
        f"WHEN ({_TERMINAL.format('OLD.state')}) EXECUTE FUNCTION corral_refuse_terminal()"
    )
