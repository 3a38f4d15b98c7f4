"""`corral worker`: a node without the API."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from corral.settings import Settings
    from corral.wiring import App


def worker() -> None:
    """Execute runs, without serving anything.

    Any number of them may share one database. APP_WORKERS and APP_CONCURRENCY say how much each takes on.

    \b
    corral worker
    APP_WORKERS=4 corral worker
    """
    from corral.cli.running import finish_serving
    from corral.log import configure_logging
    from corral.settings import load_settings

    settings = load_settings()
    configure_logging(settings.log_level)
    finish_serving(_work(settings))


async def _work(settings: "Settings") -> int:
    from corral.cli.running import Stop, first_of
    from corral.cli.serving import stop_working
    from corral.wiring import opened

    stop = Stop(grace_s=settings.grace_seconds)
    stop.listen()
    async with opened(settings, works=True) as app:
        assert app.node is not None
        stop.on_haste = app.node.hurry
        if await first_of(_has_workers(app), stop):
            where = settings.data_dir.absolute()
            print(f"Corral works: {app.node.worker_count} worker processes, data in {where}", flush=True)
            await stop.wait()
        app.draining = True
        await stop_working(app, stop)
    return stop.exit_code


async def _has_workers(app: "App") -> None:
    assert app.node is not None
    while app.node.worker_count < app.settings.workers:
        await app.pulse.wait(0.02)
