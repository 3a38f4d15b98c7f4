"""`corral alive`: check one process of this machine, for the health checks of containers and units."""

from enum import StrEnum
from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson
from corral.settings import load_settings
from corral.supervisor.checks import http_health
from corral.wiring.services import Installation


class Part(StrEnum):
    API = "api"
    WORKER = "worker"


Which = Annotated[Part, typer.Argument(help="The process to check.")]
Host = Annotated[str, typer.Option("--host", help="Address of the API.")]
Port = Annotated[int, typer.Option("--port", min=1, max=65535, help="Port of the API.")]


def alive(which: Which, host: Host = "127.0.0.1", port: Port = 8000, as_json: AsJson = False) -> None:
    """Check whether the local API or Celery worker answers.

    Exit code: 0 if it does, 1 if it does not.

    \b
    corral alive api --port 8000
    corral alive worker             the Celery worker of this machine, through the broker
    """

    settings = load_settings()
    health = http_health(host, port) if which is Part.API else Installation(settings).worker_here()
    if as_json:
        render.print_json({"part": which.value, "alive": health.is_well, "problem": health.problem or None})
    elif health.is_well:
        print(f"the {which.value} answers")
    if not health.is_well:
        exits.complain(f"the {which.value} does not answer: {health.problem}", None)
        raise typer.Exit(exits.FAILED)
