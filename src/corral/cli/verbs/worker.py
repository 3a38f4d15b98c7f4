"""`corral worker`: a node without the API."""

import os
from typing import TYPE_CHECKING

from corral.cli.options import AsJson

if TYPE_CHECKING:
    from corral.settings import Settings
    from corral.wiring import App


def worker(as_json: AsJson = False) -> None:
    """Execute runs, without serving anything.

    Any number of them may share one database. APP_WORKERS and APP_CONCURRENCY say how much each takes on.

    \b
    corral worker
    APP_WORKERS=4 corral worker
    corral worker --json            one line once it works
    """
    from corral.cli.running import finish_serving
    from corral.log import configure_logging
    from corral.settings import load_settings

    settings = load_settings()
    configure_logging(settings.log_level)
    finish_serving(_work(settings, as_json=as_json))


async def _work(settings: "Settings", *, as_json: bool) -> int:
    from corral.cli.running import Stop, first_of
    from corral.cli.serving import stop_working
    from corral.wiring import opened

    stop = Stop(grace_s=settings.grace_seconds)
    stop.listen()
    async with opened(settings, works=True) as app:
        assert app.node is not None
        stop.on_haste = app.node.hurry
        if await first_of(_has_workers(app), stop):
            _announce(settings, app.node.worker_count, as_json=as_json)
            await stop.wait()
        app.draining = True
        await stop_working(app, stop)
    return stop.exit_code


def _announce(settings: "Settings", workers: int, *, as_json: bool) -> None:
    from corral.cli import render

    where = str(settings.data_dir.absolute())
    if as_json:
        told = {"status": "works", "workers": workers, "data_dir": where, "pid": os.getpid()}
        render.print_json(told, compact=True)
    else:
        print(f"Corral works: {workers} worker process{'es' if workers > 1 else ''}, data in {where}", flush=True)


async def _has_workers(app: "App") -> None:
    assert app.node is not None
    while app.node.worker_count < app.settings.workers:
        await app.pulse.wait(0.02)
