"""The indexes of all tables, and the lanes that a claim reads."""

from typing import Any

import sqlalchemy as sa

from corral.store.tables import (
    artifacts,
    crawl_host_owners,
    events,
    host_quotas,
    hosts,
    interventions,
    items,
    jobs,
    metadata,
    pages,
    queue_tasks,
    recipes,
    records,
    runs,
    sessions,
    site_statistics,
)

__all__ = ["IN_LANE", "LANES", "metadata"]


def _index(name: str, *columns: sa.Column[Any], where: str | None = None, unique: bool = False) -> None:
    condition = None if where is None else sa.text(where)
    sa.Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


_index("jobs_by_slot", jobs.c.next_slot, where="next_slot IS NOT NULL")
_index("jobs_by_proxy_kid", jobs.c.proxy_kid, jobs.c.id, where="proxy_kid IS NOT NULL")
IN_LANE = {
    "light": "resolved_strategy <> 'browser' AND kind <> 'crawl' AND kind <> 'crawl_helper' AND kind <> 'script'"
    " AND kind <> 'local'",
    "browser": "resolved_strategy = 'browser' AND kind <> 'crawl'",
    "crawl": "kind = 'crawl'",
    "script": "kind = 'script'",
}
# The runs a claim reads. Runs that wait for their host, and suspects, are not in these indexes.
LANES = {lane: f"waiting_host IS NULL AND suspect = 0 AND {what}" for lane, what in IN_LANE.items()}
_in_order = (runs.c.priority, runs.c.due_at, runs.c.id)
for _lane, _what in LANES.items():
    _index(f"runs_queued_{_lane}", *_in_order, where=f"state = 'queued' AND {_what}")
_index("runs_suspect", *_in_order, where="state = 'queued' AND waiting_host IS NULL AND suspect > 0")
_index(
    "runs_queued_helper", runs.c.priority, runs.c.due_at, runs.c.id, where="state = 'queued' AND kind = 'crawl_helper'"
)
_index("runs_leased", runs.c.lease_until, where="state = 'running'")
_index("hosts_changed", hosts.c.updated_at)
_index("host_quotas_by_owner", host_quotas.c.owner)
_index("runs_waiting", runs.c.waiting_host, *_in_order, where="state = 'queued' AND waiting_host IS NOT NULL")
_index("runs_by_job", runs.c.job_id, runs.c.id)
for _state in ("queued", "held", "partial", "failed", "cancelled"):
    _index(f"runs_{_state}", runs.c.id, where=f"state = '{_state}'")
_index("events_by_run", events.c.run_id, events.c.seq, unique=True)
_index("records_by_run", records.c.run_id, records.c.item_key, unique=True)
_index("records_by_job", records.c.job_id, records.c.id)
_index("records_in_order", records.c.run_id, records.c.id)
_index("records_by_key", records.c.run_id, records.c.row_key, where="row_key IS NOT NULL")
_index("pages_by_key", pages.c.run_id, pages.c.item_key, unique=True)
_index("pages_in_order", pages.c.run_id, pages.c.id)
_index("recipes_by_page", recipes.c.host, recipes.c.fields_key, recipes.c.url_pattern, unique=True)
_index("sessions_by_job", sessions.c.job_id, sessions.c.name, unique=True)
_index("artifacts_by_run", artifacts.c.run_id)
_index("interventions_by_run", interventions.c.run_id)
_index("interventions_open", interventions.c.id, where="status = 'open'")
_index("items_by_key", items.c.run_id, items.c.url_key, unique=True)
_next = (items.c.run_id, items.c.helper, items.c.due_at, items.c.rank, items.c.id)
_index("items_next", *_next, where="state = 'pending'")
_index("crawl_host_owners_handover", crawl_host_owners.c.run_id, where="handover_state > 0")
_index("items_failed", items.c.run_id, items.c.id, where="state = 'failed'")
_index("items_leased", items.c.run_id, items.c.depth, where="state = 'leased'")
_index("site_statistics_by_host", site_statistics.c.host)
_index("items_deferred", items.c.run_id, items.c.message, items.c.rank, items.c.id, where="state = 'deferred'")
_index("items_missing", items.c.run_id, items.c.id, where="state = 'missing'")
_index("items_suspect", items.c.run_id, items.c.losses, where="state = 'pending' AND losses > 0")
_ready = (queue_tasks.c.registry, queue_tasks.c.priority, queue_tasks.c.scraper, queue_tasks.c.seq)
_index("queue_tasks_ready", *_ready, where="state = 'ready'")
_index("queue_tasks_started", queue_tasks.c.id, where="state = 'started'")
_index("queue_tasks_dead", queue_tasks.c.seq, where="state = 'dead'")
_index("queue_tasks_in_order", queue_tasks.c.seq, unique=True)
