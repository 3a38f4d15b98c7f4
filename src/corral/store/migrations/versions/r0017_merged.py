"""Count the URLs of a crawl that differ from others only in a session id."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("crawls", sa.Column("merged", sa.BigInteger, nullable=False, server_default="0"))
