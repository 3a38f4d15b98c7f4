"""The queue of scraper tasks."""

import sqlalchemy as sa
from alembic import op

from corral.store.tables import Document, Millis

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.create_table(
        "queue_tasks",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("registry", sa.Text, nullable=False),
        sa.Column("priority", sa.SmallInteger, nullable=False),
        sa.Column("scraper", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("document", Document, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("imported_at", Millis, nullable=False),
        sa.Column("run_id", sa.Text),
        sa.Column("starts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("reason", sa.Text),
        sa.Column("started_at", Millis),
        sa.Column("ended_at", Millis),
        sa.Column("history", Document, nullable=False, server_default="[]"),
    )
    op.create_table(
        "queue_scrapers",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("next_due", Millis, nullable=False),
    )
    _create_index("queue_tasks_ready", ["registry", "priority", "scraper", "seq"], "state = 'ready'")
    _create_index("queue_tasks_started", ["id"], "state = 'started'")
    _create_index("queue_tasks_dead", ["seq"], "state = 'dead'")
    op.create_index("queue_tasks_in_order", "queue_tasks", ["seq"], unique=True)


def _create_index(name: str, columns: list[str], where: str) -> None:
    condition = sa.text(where)
    op.create_index(name, "queue_tasks", columns, sqlite_where=condition, postgresql_where=condition)
