"""`corral up`: everything in one process tree."""

from typing import TYPE_CHECKING, Annotated

import typer

from corral.cli.options import AsJson, DryRun, Host, Port

if TYPE_CHECKING:
    from corral.cli.serving.serving import Listener
    from corral.settings import Settings


Distributed = Annotated[
    bool, typer.Option("--distributed", help="Redis, workers and the API as processes of their own, looked after.")
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, max=64, help="How many Celery workers; with --distributed.")
]


def up(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    *,
    distributed: Distributed = False,
    workers: Workers = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Start the API, the dashboard and a worker node.

    With --distributed they are processes that talk by way of Redis and Celery. What runs already is used and never
    stopped, what is missing is started, what dies is started again; all that was started here is stopped at the end.

    \b
    corral up
    corral up --port 9000
    corral up --port 0 --json       one line with its address once it answers
    corral up --distributed --workers 2
    corral up --distributed --dry-run
    APP_WRITE_TOKEN=… corral up --host 0.0.0.0
    """
    from corral.cli import render
    from corral.cli.running import finish_serving
    from corral.cli.serving.serving import listening
    from corral.log import configure_logging
    from corral.settings import load_settings

    if workers is not None and not distributed:
        raise typer.BadParameter("--workers is for --distributed; here APP_WORKERS says how many there are")
    settings = load_settings()
    configure_logging(settings.log_level)
    listener = listening(settings, host, port)
    if distributed:
        from corral.cli.serving.distributed import up_distributed

        up_distributed(settings, listener, workers=workers, dry_run=dry_run, as_json=as_json)
    if dry_run:
        listener.socket.close()
        about = {"url": listener.url, "data_dir": str(settings.data_dir.absolute()), "workers": settings.workers}
        render.print_plan(f"start the API at {listener.url} and a node", about, as_json=as_json)
        return
    finish_serving(_up(settings, listener, as_json=as_json))


async def _up(settings: "Settings", listener: "Listener", *, as_json: bool) -> int:
    from corral.cli.running import Stop
    from corral.cli.serving.serving import announcement, serve_api
    from corral.wiring.app import opened

    stop = Stop(grace_s=settings.shutdown_grace_seconds)
    stop.listen()
    said = announcement(settings, listener, "up" if as_json else "is up", as_json=as_json)
    async with opened(settings, works=True) as app:
        assert app.node is not None
        stop.on_haste = app.node.hurry
        await serve_api(app, listener, stop, announce=said)
    return stop.exit_code
