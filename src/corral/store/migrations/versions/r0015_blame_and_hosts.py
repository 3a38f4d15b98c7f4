"""Count interruptions apart from losses, record the host of a run, and exclude waiting runs from claims."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

_LANES = {
    "light": "resolved_strategy <> 'browser' AND kind <> 'crawl' AND kind <> 'share'",
    "browser": "resolved_strategy = 'browser' AND kind <> 'crawl'",
    "crawl": "kind = 'crawl'",
}


def upgrade() -> None:
    op.add_column("runs", sa.Column("interruptions", sa.Integer, nullable=False, server_default="0"))
    op.add_column("runs", sa.Column("host_key", sa.Text))
    for lane, what in _LANES.items():
        op.drop_index(f"runs_queued_{lane}", "runs")
        where = sa.text(f"state = 'queued' AND waiting_host IS NULL AND suspect = 0 AND {what}")
        columns = ["priority", "due_at", "id"]
        op.create_index(f"runs_queued_{lane}", "runs", columns, sqlite_where=where, postgresql_where=where)
    suspects = sa.text("state = 'queued' AND waiting_host IS NULL AND suspect > 0")
    columns = ["priority", "due_at", "id"]
    op.create_index("runs_suspect", "runs", columns, sqlite_where=suspects, postgresql_where=suspects)
    op.drop_index("runs_waiting", "runs")
    waiting = sa.text("state = 'queued' AND waiting_host IS NOT NULL")
    columns = ["waiting_host", "priority", "due_at", "id"]
    op.create_index("runs_waiting", "runs", columns, sqlite_where=waiting, postgresql_where=waiting)
    # A run with two losses had to be executed alone; that level is now 2.
    op.execute("UPDATE runs SET suspect = 2 WHERE suspect > 0")
