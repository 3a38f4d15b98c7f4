"""Page times of crawls by all their workers, and the alerts that a campaign has raised so far."""

import sqlalchemy as sa
from alembic import op

from corral.store.table_types import Document

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    op.add_column("crawls", sa.Column("latency", Document))
    op.add_column("campaigns", sa.Column("raised", Document))
    op.add_column("campaigns", sa.Column("raised_count", sa.Integer, nullable=False, server_default="0"))
