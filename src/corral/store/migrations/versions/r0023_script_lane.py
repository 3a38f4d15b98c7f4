"""Runs that execute scripts wait in a lane of their own."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"

_CLAIMABLE = "state = 'queued' AND waiting_host IS NULL AND suspect = 0"
_LIGHT = (
    f"{_CLAIMABLE} AND resolved_strategy <> 'browser'"
    " AND kind <> 'crawl' AND kind <> 'crawl_helper' AND kind <> 'script'"
)
_IN_ORDER = ["priority", "due_at", "id"]


def upgrade() -> None:
    op.drop_index("runs_queued_light", "runs")
    _create_index("runs_queued_light", _LIGHT)
    _create_index("runs_queued_script", f"{_CLAIMABLE} AND kind = 'script'")


def _create_index(name: str, where: str) -> None:
    condition = sa.text(where)
    op.create_index(name, "runs", _IN_ORDER, sqlite_where=condition, postgresql_where=condition)
