"""`corral run list`: runs, newest first."""

from enum import StrEnum
from typing import Annotated

import typer

from corral.cli import exits, render, shapes
from corral.cli.options import AsJson, Limit, check_id
from corral.cli.render import Cell
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.domain.runs.run import Run, RunState
from corral.settings import Settings, load_settings

_MANY = 1000


RUN_COLUMNS = ("id", "status", "try", "by?", "started", "took?", "why")


class Status(StrEnum):
    """The states as users see them: a held run shows its reason."""

    QUEUED = "queued"
    RUNNING = "running"
    PAUSED = "paused"
    WAITING_FOR_HUMAN = "waiting_for_human"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_hold(self) -> bool:
        return self in (Status.PAUSED, Status.WAITING_FOR_HUMAN)


def run_row(run: Run) -> tuple[Cell, ...]:

    return (
        run.id,
        shapes.run_status(run),
        f"{run.attempt}/{run.max_attempts}",
        run.resolved_strategy.value,
        render.ago(run.started_at),
        render.format_duration(run.started_at, run.finished_at),
        run.failure_code,
    )


def list_(
    status: Annotated[Status | None, typer.Option(help="Only runs in this state.")] = None,
    job: Annotated[str | None, typer.Option(metavar="JOB", help="Only runs of this job.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first.

    \b
    corral run list --status failed
    corral run list --job 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --json
    """

    job_id = None if job is None else check_id(job, "job")
    finish(_list(load_settings(), job_id, status, limit, as_json=as_json))


async def _list(settings: Settings, job_id: str | None, status: Status | None, limit: int, *, as_json: bool) -> int:

    async with read_store(settings) as store:
        if job_id is not None:
            await store.jobs.get(job_id)  # raises if there is no such job
        if status is not None and status.is_hold:
            held = await store.runs.newest(job_id, RunState.HELD, None, _MANY)
            runs = [run for run in held if shapes.run_status(run) == status][:limit]
        else:
            runs = await store.runs.newest(job_id, RunState(status) if status else None, None, limit)
    if as_json:
        render.print_json([shapes.run_shape(run) for run in runs])
    else:
        nothing = "no such runs; start one with `corral run start JOB`"
        render.print_table(RUN_COLUMNS, [run_row(run) for run in runs], nothing=nothing)
    return exits.DONE
