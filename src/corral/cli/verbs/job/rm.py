"""`corral job rm`."""

from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import (
    AsJson,
    DryRun,
    check_id,
)
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.writable_store import open_writable_store
from corral.settings import Settings, load_settings

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The id of a job.")]


def rm(job_id: JobArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Remove a job. Its finished runs and their records stay; one with a run under way is refused.

    \b
    corral job rm 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """

    finish(_rm(load_settings(), check_id(job_id, "job"), dry_run=dry_run, as_json=as_json))


async def _rm(settings: Settings, job_id: str, *, dry_run: bool, as_json: bool) -> int:

    if dry_run:
        async with read_store(settings) as store:
            stored = await store.jobs.get(job_id)
        render.print_plan(f"remove the job for {stored.job.target_url}", {"job_id": job_id}, as_json=as_json)
        return exits.DONE
    async with open_writable_store(settings) as store:
        await store.jobs.delete(job_id)
    render.print_removed("job", job_id, as_json=as_json)
    return exits.DONE
