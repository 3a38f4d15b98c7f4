"""`corral events`: the history of a run."""

from typing import Annotated

import typer

from corral.cli import exits, render, shapes
from corral.cli.options import AsJson, check_id
from corral.cli.progress import history
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.domain.runs.event import Event
from corral.settings import Settings, load_settings


def events(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")],
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Follow new events until the run has ended.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the events of a run, oldest first. With -f and --json: one JSON object a line.

    \b
    corral events 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    corral events -f 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """

    finish(_events(load_settings(), check_id(run_id, "run"), follow=follow, as_json=as_json))


async def _events(settings: Settings, run_id: str, *, follow: bool, as_json: bool) -> int:

    async with read_store(settings) as store:
        await store.runs.get(run_id)
        if follow:
            async for event in history.follow(store, run_id):
                _print(event, as_json=as_json)
            return exits.DONE
        events = await history.load_history(store, run_id)
    if as_json:
        render.print_json([shapes.event_shape(event) for event in events])
    else:
        for event in events:
            _print(event, as_json=False)
    return exits.DONE


def _print(event: Event, *, as_json: bool) -> None:

    if as_json:
        render.print_json(shapes.event_shape(event), compact=True)
    elif render.on_terminal():
        render.console().print(history.style_line(event))
    else:
        print(history.line(event), flush=True)
