"""`corral run keep`: exempt a crawl from deletion."""

from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, DryRun, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.writable_store import open_writable_store
from corral.settings import Settings, load_settings

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")]
Undo = Annotated[bool, typer.Option("--undo", help="Allow deletion by age again.")]


def keep(run_id: RunArgument, undo: Undo = False, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Exempt a crawl and its records from deletion by age.

    Without this, both are deleted APP_CRAWL_RETENTION_HOURS after the crawl ended.

    \b
    corral run keep 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    corral run keep 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --undo
    """

    checked_id = check_id(run_id, "run")
    finish(_keep(load_settings(), checked_id, keep=not undo, dry_run=dry_run, as_json=as_json))


async def _keep(settings: Settings, run_id: str, *, keep: bool, dry_run: bool, as_json: bool) -> int:

    if dry_run:
        async with read_store(settings) as store:
            await store.runs.get(run_id)
        render.print_plan(f"{'keep' if keep else 'stop keeping'} run {run_id}", {"run_id": run_id}, as_json=as_json)
        return exits.DONE
    async with open_writable_store(settings) as store:
        run = await store.runs.get(run_id)
        await store.runs.keep(run.id, keep=keep)
    if as_json:
        render.print_json({"run_id": run.id, "keep": keep})
    else:
        print(f"run {run.id} is kept" if keep else f"run {run.id} will be deleted by age")
    return exits.DONE
