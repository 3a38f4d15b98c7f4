"""The cost of proxies, by crawl and by site."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    for table in ("crawls", "site_statistics"):
        op.add_column(table, sa.Column("proxy_nanos", sa.BigInteger, nullable=False, server_default="0"))
