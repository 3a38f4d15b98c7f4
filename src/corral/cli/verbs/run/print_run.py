"""Print the run that a command started or changed."""

from corral.cli import render, shapes
from corral.domain.runs.run import Run


def print_run(run: Run, *, as_json: bool) -> None:
    """Print only the id in a pipe, for the next command."""

    if as_json:
        render.print_json(shapes.run_shape(run))
    elif render.on_terminal():
        print(f"run {run.id} is {shapes.run_status(run)}")
    else:
        print(run.id)
