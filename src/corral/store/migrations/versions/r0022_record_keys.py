"""Records have a key that is the same in every run of a job, and a digest of their data."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("records", sa.Column("row_key", sa.Text))
    op.add_column("records", sa.Column("digest", sa.Text))
    url = "payload->>'url'" if op.get_bind().dialect.name == "postgresql" else "json_extract(payload, '$.url')"
    # Runs of one page: their rows are recognized by the URL.
    op.execute(
        f"UPDATE records SET row_key = (SELECT {url} FROM runs WHERE runs.id = records.run_id)"  # noqa: S608 - a constant
        " WHERE item_key = '0' AND job_id IS NOT NULL"
    )
    is_set = sa.text("row_key IS NOT NULL")
    op.create_index("records_by_key", "records", ["run_id", "row_key"], sqlite_where=is_set, postgresql_where=is_set)
