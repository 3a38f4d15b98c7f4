"""Rename tables, columns and one run kind to the words of the glossary. No row is added or removed."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

_TABLES = {
    "crawl_shares": "crawl_helpers",
    "crawl_pins": "crawl_host_owners",
    "host_parts": "host_quotas",
    "kept_runs": "pinned_runs",
    "leftovers": "purge_queue",
    "workers": "nodes",
}
# Keyed by the new table name.
_COLUMNS = {
    "crawl_helpers": {
        "holder": "helper_run_id",
        "at_once": "concurrency",
        "target": "target_concurrency",
        "hungry": "wants_work",
    },
    "crawl_host_owners": {"place": "host_key", "share": "helper", "news": "handover_state"},
    "crawls": {"shared": "has_helpers"},
    "host_quotas": {"place": "host_key", "turns": "slots"},
    "hosts": {"place": "host_key"},
    "items": {"share": "helper"},
    "pages": {"asked_url": "requested_url"},
    "site_memory": {"asked": "requested"},
}
_LIGHT = (
    "state = 'queued' AND waiting_host IS NULL AND suspect = 0"
    " AND resolved_strategy <> 'browser' AND kind <> 'crawl' AND kind <> 'crawl_helper'"
)
_IN_ORDER = ["priority", "due_at", "id"]


def upgrade() -> None:
    # SQLite cannot rename an index, so indexes with an old name or an old value are created again. All others follow
    # their columns: renaming a column rewrites no row and no index, however large the table is.
    op.drop_index("crawl_pins_news", "crawl_pins")
    op.drop_index("host_parts_by_owner", "host_parts")
    op.drop_index("runs_queued_light", "runs")
    op.drop_index("runs_queued_share", "runs")
    for old, new in _TABLES.items():
        op.rename_table(old, new)
        if op.get_bind().dialect.name == "postgresql":
            op.execute(f"ALTER TABLE {new} RENAME CONSTRAINT {old}_pkey TO {new}_pkey")
    for table, columns in _COLUMNS.items():
        for old, new in columns.items():
            op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")
    op.execute("UPDATE runs SET kind = 'crawl_helper' WHERE kind = 'share'")
    _create_index("crawl_host_owners_handover", "crawl_host_owners", ["run_id"], "handover_state > 0")
    op.create_index("host_quotas_by_owner", "host_quotas", ["owner"])
    _create_index("runs_queued_light", "runs", _IN_ORDER, _LIGHT)
    _create_index("runs_queued_helper", "runs", _IN_ORDER, "state = 'queued' AND kind = 'crawl_helper'")


def _create_index(name: str, table: str, columns: list[str], where: str) -> None:
    condition = sa.text(where)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)
