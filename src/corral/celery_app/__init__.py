"""Corral as a Celery application: `celery -A corral.celery_app worker`, `… beat`, `… inspect active`.

A message names a run and is only a hint: the node claims the run in the database, executes it under a lease and
settles it there. Messages may therefore be lost, duplicated or late, and the broker may be unavailable.
"""

import os
from typing import Any

from celery import signals

from corral.celery_app import hosting
from corral.runtime.process import die_with_parent
from corral.settings import load_settings
from corral.transport.celery import EXECUTE, SWEEP, make_celery
from corral.wiring.redis import broker_url

_settings = load_settings()

app = make_celery(
    broker_url(_settings),
    worker_pool="corral.celery_app.pool:NodePool",
    worker_consumer="corral.celery_app.consumer:NodeConsumer",
    worker_concurrency=_settings.workers * _settings.runs_per_process,
)
app.set_default()


@app.task(name=EXECUTE)
def execute(run_id: str) -> str:
    """Execute a queued run. The result describes the message, not the run."""
    return hosting.execute(run_id)


@app.task(name=SWEEP)
def sweep() -> None:
    """Handle expired leases, schedules and due retries."""
    hosting.the_host().sweep()


@signals.beat_embedded_init.connect
def _end_beat_with_worker(**_: Any) -> None:
    """End an embedded beat, which is a separate process, together with its worker."""
    die_with_parent(os.getppid())
