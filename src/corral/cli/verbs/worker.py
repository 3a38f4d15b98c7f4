"""`corral worker`: a node without the API."""

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from corral.cli import render
from corral.cli.options import AsJson
from corral.cli.running import Stop, first_of
from corral.cli.serving.finish import finish_serving
from corral.cli.serving.stopping import stop_working
from corral.domain.runs.node import NodeRole
from corral.domain.runs.queues import Queue, parse_queues
from corral.log import configure_logging
from corral.settings import Settings, Transport, load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_node


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    queues: Annotated[str, typer.Option("--queues", help="Which kinds of runs: http, browser, script.")] = (
        "http,browser,script"
    )
    processes: Annotated[
        int | None, typer.Option("--processes", min=1, max=64, help="Worker processes. [default: APP_WORKERS]")
    ] = None
    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency", min=1, max=1000, help="Runs at once per process. [default: APP_RUNS_PER_PROCESS]"
        ),
    ] = None
    max_memory: Annotated[
        int | None,
        typer.Option(
            "--max-memory", min=0, metavar="MIB", help="Replace larger processes. [default: by available memory]"
        ),
    ] = None
    beat: Annotated[bool, typer.Option("--beat", help="Also run the scheduler for all nodes (transport celery).")] = (
        False
    )
    as_json: AsJson = False


def worker(options: WorkerOptions) -> None:
    """Start a node that executes runs, without the API.

    Any number of nodes can share one database. With APP_TRANSPORT=celery the node is a Celery worker, which learns of
    due runs by messages; otherwise it polls the database.

    \b
    corral worker
    corral worker --processes 4 --concurrency 20
    corral worker --queues browser --concurrency 2 --max-memory 1500
    APP_TRANSPORT=celery corral worker --beat
    corral worker --json            one line once it is ready
    """

    served = parse_queues(options.queues)
    overrides = {
        "workers": options.processes,
        "runs_per_process": options.concurrency,
        "worker_max_memory_mib": options.max_memory,
    }
    settings = load_settings(**{name: value for name, value in overrides.items() if value is not None})
    if settings.transport is Transport.CELERY:
        from corral.celery_app.command import work  # noqa: PLC0415 - only this mode loads it

        announce = functools.partial(_announce, settings, settings.workers, served, as_json=options.as_json)
        raise typer.Exit(work(settings, served, beat=options.beat, announce=announce))
    if options.beat:
        raise typer.BadParameter(
            "--beat requires APP_TRANSPORT=celery; with the embedded transport every node runs the scheduler"
        )
    configure_logging(settings.log_level)
    finish_serving(_work(settings, served, as_json=options.as_json))


async def _work(settings: Settings, queues: Sequence[Queue], *, as_json: bool) -> int:

    stop = Stop(grace_s=settings.shutdown_grace_seconds)
    stop.listen()
    async with open_node(settings, queues, NodeRole.WORKER) as app:
        assert app.node is not None
        stop.on_repeat = app.node.stop_now
        if await first_of(_wait_for_workers(app), stop):
            _announce(settings, app.node.worker_count, queues, as_json=as_json)
            await stop.wait()
        app.draining = True
        await stop_working(app, stop)
    return stop.exit_code


def _announce(settings: Settings, workers: int, queues: Sequence[Queue], *, as_json: bool) -> None:

    where = str(settings.data_dir.absolute())
    if as_json:
        about = {"transport": settings.transport.value, "queues": [str(queue) for queue in queues]}
        document = {"status": "works", "workers": workers, **about, "data_dir": where, "pid": os.getpid()}
        render.print_json(document, compact=True)
    else:
        print(f"Corral works: {workers} worker process{'es' if workers > 1 else ''}, data in {where}", flush=True)


async def _wait_for_workers(app: App) -> None:
    assert app.node is not None
    while app.node.worker_count < app.settings.workers:
        await app.pulse.wait(0.02)
