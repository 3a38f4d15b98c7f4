"""Records store how each of their values was found."""

import sqlalchemy as sa
from alembic import op

from corral.store.tables import Document

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.add_column("records", sa.Column("details", Document))
