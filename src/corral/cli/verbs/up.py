"""`corral up`: everything in one process tree."""

from dataclasses import dataclass
from typing import Annotated

import typer

from corral.cli import render
from corral.cli.options import ListenOptions, ReportOptions
from corral.cli.serving.finish import finish_serving
from corral.cli.serving.listener import open_listener
from corral.log import configure_logging
from corral.settings import load_settings


@dataclass(frozen=True, kw_only=True)
class UpOptions:
    listen: ListenOptions
    distributed: Annotated[
        bool, typer.Option("--distributed", help="Run and supervise Redis, Celery workers and the API as processes.")
    ] = False
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, max=64, help="How many Celery workers; with --distributed.")
    ] = None
    report: ReportOptions


def up(options: UpOptions) -> None:
    """Start the API, the dashboard and a node that executes runs.

    With --distributed they are separate processes that communicate through Redis and Celery. Services that already
    run are used and never stopped; missing ones are started, restarted when they die, and stopped at the end.

    \b
    corral up
    corral up --port 9000
    corral up --port 0 --json       one line with its address once it answers
    corral up --distributed --workers 2
    corral up --distributed --dry-run
    APP_WRITE_TOKEN=… corral up --host 0.0.0.0
    """

    if options.workers is not None and not options.distributed:
        raise typer.BadParameter(
            "--workers requires --distributed; without it, APP_WORKERS sets the number of worker processes"
        )
    settings, report = load_settings(), options.report
    configure_logging(settings.log_level)
    listener = open_listener(settings, options.listen)
    if options.distributed:
        from corral.cli.serving.distributed import up_distributed  # noqa: PLC0415 - only this mode loads it

        workers, dry_run, as_json = options.workers, report.dry_run, report.as_json
        up_distributed(settings, listener, workers=workers, dry_run=dry_run, as_json=as_json)
    if report.dry_run:
        listener.socket.close()
        about = {"url": listener.url, "data_dir": str(settings.data_dir.absolute()), "workers": settings.workers}
        render.print_plan(f"start the API at {listener.url} and a node", about, as_json=report.as_json)
        return
    from corral.cli.serving.embedded import up_embedded  # noqa: PLC0415 - only this mode loads it

    finish_serving(up_embedded(settings, listener, as_json=report.as_json))
