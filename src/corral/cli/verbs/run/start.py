"""`corral run start` and `retry`."""

from dataclasses import dataclass
from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, DryRun, MaxAttempts, PriorityName, ReportOptions, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.verbs.run.keep import RunArgument
from corral.cli.verbs.run.print_run import print_run
from corral.domain.errors import WrongState
from corral.domain.jobs.job import Strategy
from corral.domain.runs.run import spoken
from corral.engine.usecases.submit import Overrides
from corral.settings import Settings, load_settings
from corral.wiring.roles import open_client


@dataclass(frozen=True, kw_only=True)
class StartOptions:
    job_id: Annotated[str, typer.Argument(metavar="JOB", help="The id of a job.")]
    strategy: Annotated[Strategy | None, typer.Option(help="Overrides the value of the job.")] = None
    priority: Annotated[PriorityName | None, typer.Option(help="Overrides the value of the job.")] = None
    max_attempts: MaxAttempts = None
    report: ReportOptions


def start(options: StartOptions) -> None:
    """Start a run of a job. A `corral up` or `corral worker` on the same data executes it.

    \b
    corral run start 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    corral events -f $(corral run start 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b)
    """

    priority = options.priority.value_of if options.priority else None
    overrides = Overrides(priority, options.strategy, options.max_attempts)
    finish(_start(load_settings(), check_id(options.job_id, "job"), overrides, options.report))


async def _start(settings: Settings, job_id: str, overrides: Overrides, report: ReportOptions) -> int:

    if report.dry_run:
        async with read_store(settings) as store:
            job = (await store.jobs.get(job_id)).job
        render.print_plan(f"start a run of {job.target_url}", {"job_id": job_id}, as_json=report.as_json)
        return exits.DONE
    async with open_client(settings) as app_:
        run, _ = await app_.submitter.start(job_id, overrides)
    print_run(run, as_json=report.as_json)
    return exits.DONE


def retry(run_id: RunArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Repeat an ended run as a new run that is linked to it.

    \b
    corral run retry 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """

    finish(_retry(load_settings(), check_id(run_id, "run"), dry_run=dry_run, as_json=as_json))


async def _retry(settings: Settings, run_id: str, *, dry_run: bool, as_json: bool) -> int:

    if dry_run:
        async with read_store(settings) as store:
            run = await store.runs.get(run_id)
        if not run.state.is_terminal:
            raise WrongState("retry a run that has not ended", spoken(run.state, run.hold_reason), terminal=False)
        render.print_plan(f"start a new run of what run {run_id} tried", {"run_id": run_id}, as_json=as_json)
        return exits.DONE
    async with open_client(settings) as app_:
        run, _ = await app_.submitter.retry(run_id)
    print_run(run, as_json=as_json)
    return exits.DONE
