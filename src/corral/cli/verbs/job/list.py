"""`corral job list` and `show`."""

from typing import Annotated

import typer

from corral.cli import exits, render, shapes
from corral.cli.options import (
    AsJson,
    Limit,
    check_id,
)
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.verbs.run.list import RUN_COLUMNS, run_row
from corral.domain.fields.own_code import without_parser
from corral.settings import Settings, load_settings

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The id of a job.")]


def list_(limit: Limit = 50, as_json: AsJson = False) -> None:
    """List jobs, newest first.

    \b
    corral job list
    corral job list --json | jq -r '.[].id'
    """

    finish(_list(load_settings(), limit, as_json=as_json))


async def _list(settings: Settings, limit: int, *, as_json: bool) -> int:

    async with read_store(settings) as store:
        jobs = await store.jobs.newest(None, limit)
    if as_json:
        render.print_json([shapes.job_shape(stored) for stored in jobs])
        return exits.DONE
    rows = [(stored.job.id, shapes.job_status(stored), stored.job.frequency, stored.job.target_url) for stored in jobs]
    nothing = "no jobs yet; add one with `corral job add URL --fields title`"
    render.print_table(("id", "status", "frequency", "target…"), rows, nothing=nothing)
    return exits.DONE


def show(job_id: JobArgument, as_json: AsJson = False) -> None:
    """Show one job with its latest runs.

    \b
    corral job show 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """

    finish(_show(load_settings(), check_id(job_id, "job"), as_json=as_json))


async def _show(settings: Settings, job_id: str, *, as_json: bool) -> int:

    async with read_store(settings) as store:
        stored = await store.jobs.get(job_id)
        latest = await store.runs.newest(job_id, None, None, 5)
    shape = shapes.job_shape(stored)
    if as_json:
        render.print_json(shape)
        return exits.DONE
    shape["fields"] = ", ".join(spec.name for spec in without_parser(stored.job.fields))
    shape["parse"] = None if shape["parse"] is None else shape["parse"]["file"]  # the code itself is in --json
    render.print_properties(shape)
    if latest:
        print()
        render.print_table(RUN_COLUMNS, [run_row(run) for run in latest])
    return exits.DONE
