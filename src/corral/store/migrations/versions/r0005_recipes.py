"""Recipes, which fill pages without a browser."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "recipes",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("url_pattern", sa.Text, nullable=False),
        sa.Column("fields_key", sa.Text, nullable=False),
        sa.Column("document", sa.Text().with_variant(JSONB(), "postgresql"), nullable=False),
        sa.Column("pinned", sa.SmallInteger, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
    )
    op.create_index("recipes_by_page", "recipes", ["host", "fields_key", "url_pattern"], unique=True)
