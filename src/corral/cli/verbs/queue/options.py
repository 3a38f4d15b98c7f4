"""Options that the verbs of the queue share."""

from pathlib import Path
from typing import Annotated

import typer

from corral.cli.options import PriorityName

ScraperConfig = Annotated[
    Path | None,
    typer.Option("--scraper-config", metavar="FILE", help="The scrapers (default config/scraper_config.yaml)."),
]
TaskQueue = Annotated[Path, typer.Option("--task-queue", metavar="FILE", help="The queue file.")]
OnlyPriority = Annotated[
    PriorityName | None, typer.Option("--priority", case_sensitive=False, help="Only tasks of this priority.")
]
TaskArgument = Annotated[str, typer.Argument(metavar="TASK", help="The id of a task, such as task_000001.")]
