"""Corral as a Celery application: `celery -A corral.celery_app worker`, `… beat`, `… inspect active`.

A message names a run and is no more than a hint: the run is claimed in the database, executed under a lease and
settled there. So messages may be lost, doubled or late, and the broker may vanish.
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
def _with_its_worker(**_: Any) -> None:
    """An embedded beat is a separate process, which must not outlive the worker."""
    die_with_parent(os.getppid())
