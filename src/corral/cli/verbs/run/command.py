"""`corral run`: executions of jobs."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from corral.cli.options import AsJson, DryRun, Limit, MaxAttempts, PriorityName, checked_id
from corral.cli.verbs.run.keep import RunArgument, keep
from corral.domain.jobs.job import Strategy
from corral.domain.runs.run import Move, RunState, advance, spoken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from corral.cli.render import Cell
    from corral.domain.runs.artifact import StoredArtifact
    from corral.domain.runs.run import Run
    from corral.engine.usecases.submit import Overrides
    from corral.settings import Settings

app = typer.Typer(
    no_args_is_help=True, help="Executions of jobs: start, list, show, cancel, pause, resume, retry, keep."
)

app.command("keep")(keep)
_MANY = 1000
RUN_COLUMNS = ("id", "status", "try", "by?", "started", "took?", "why")


class Status(StrEnum):
    """The states as they are shown: a held run says what holds it."""

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


def run_row(run: "Run") -> tuple["Cell", ...]:
    from corral.cli import render, shapes

    return (
        run.id,
        shapes.run_status(run),
        f"{run.attempt}/{run.max_attempts}",
        run.resolved_strategy.value,
        render.ago(run.started_at),
        render.lasting(run.started_at, run.finished_at),
        run.failure_code,
    )


@app.command("start")
def start(
    job_id: Annotated[str, typer.Argument(metavar="JOB", help="The id of a job.")],
    *,
    strategy: Annotated[Strategy | None, typer.Option(help="Instead of what the job says.")] = None,
    priority: Annotated[PriorityName | None, typer.Option(help="Instead of what the job says.")] = None,
    max_attempts: MaxAttempts = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Start a run of a job. A `corral up` or `corral worker` on the same data executes it.

    \b
    corral run start 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    corral events -f $(corral run start 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b)
    """
    from corral.cli.running import finish
    from corral.engine.usecases.submit import Overrides
    from corral.settings import load_settings

    overrides = Overrides(priority.value_of if priority else None, strategy, max_attempts)
    finish(_start(load_settings(), checked_id(job_id, "job"), overrides, dry_run=dry_run, as_json=as_json))


async def _start(settings: "Settings", job_id: str, overrides: "Overrides", *, dry_run: bool, as_json: bool) -> int:
    from corral.cli import exits, render
    from corral.cli.running import read_store
    from corral.wiring.app import opened

    if dry_run:
        async with read_store(settings) as store:
            job = (await store.jobs.get(job_id)).job
        render.print_plan(f"start a run of {job.target_url}", {"job_id": job_id}, as_json=as_json)
        return exits.DONE
    async with opened(settings, works=False) as app_:
        run, _ = await app_.submitter.start(job_id, overrides)
    _print_run(run, as_json=as_json)
    return exits.DONE


@app.command("list")
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
    from corral.cli.running import finish
    from corral.settings import load_settings

    job_id = None if job is None else checked_id(job, "job")
    finish(_list(load_settings(), job_id, status, limit, as_json=as_json))


async def _list(settings: "Settings", job_id: str | None, status: Status | None, limit: int, *, as_json: bool) -> int:
    from corral.cli import exits, render, shapes
    from corral.cli.running import read_store

    async with read_store(settings) as store:
        if job_id is not None:
            await store.jobs.get(job_id)  # a job that does not exist is not one without runs
        if status is not None and status.is_hold:
            held = await store.runs.newest(job_id, RunState.HELD, None, _MANY)
            found = [run for run in held if shapes.run_status(run) == status][:limit]
        else:
            found = await store.runs.newest(job_id, RunState(status) if status else None, None, limit)
    if as_json:
        render.print_json([shapes.run_shape(run) for run in found])
    else:
        nothing = "no such runs; start one with `corral run start JOB`"
        render.print_table(RUN_COLUMNS, [run_row(run) for run in found], nothing=nothing)
    return exits.DONE


@app.command("show")
def show(run_id: RunArgument, as_json: AsJson = False) -> None:
    """Show one run: its state, why, and what it measured.

    \b
    corral run show 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    from corral.cli.running import finish
    from corral.settings import load_settings

    finish(_show(load_settings(), checked_id(run_id, "run"), as_json=as_json))


async def _show(settings: "Settings", run_id: str, *, as_json: bool) -> int:
    from corral.cli import exits, render, shapes
    from corral.cli.running import read_store

    async with read_store(settings) as store:
        run = await store.runs.get(run_id)
        artifacts = await store.artifacts.of_run(run_id)
    shape = shapes.run_shape(run)
    if as_json:
        render.print_json({**shape, "artifacts": [shapes.artifact_shape(each) for each in artifacts]})
        return exits.DONE
    stats, attempts, progress = (shape.pop(name) for name in ("stats", "engine_attempts", "progress"))
    if progress["total"] > 1:
        shape["progress"] = progress
    render.print_properties({**shape, **{f"stats.{k}": v for k, v in stats.items()}})
    if attempts:
        print()
        rows = [[entry.get(name) for name in ("attempt", "strategy", "outcome", "duration_s")] for entry in attempts]
        render.print_table(("attempt", "by", "outcome", "seconds"), rows)
    _print_artifacts(settings, artifacts)
    return exits.DONE


def _print_artifacts(settings: "Settings", artifacts: "Sequence[StoredArtifact]") -> None:
    from corral.cli import render
    from corral.files.artifacts import ArtifactFolder

    if artifacts:
        folder = ArtifactFolder(settings.artifacts_dir)
        print()
        rows = [(each.attempt, each.artifact.kind.value, str(folder.path(each.artifact))) for each in artifacts]
        render.print_table(("attempt", "kept", "file"), rows)


@app.command("cancel")
def cancel(run_id: RunArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Cancel a run that has not ended; it stops at once, wherever it is executed.

    \b
    corral run cancel 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    _move(run_id, Move.CANCEL, dry_run=dry_run, as_json=as_json)


@app.command("pause")
def pause(run_id: RunArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Hold a run until it is resumed; an attempt under way is stopped and does not count.

    \b
    corral run pause 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    _move(run_id, Move.PAUSE, dry_run=dry_run, as_json=as_json)


@app.command("resume")
def resume(run_id: RunArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Let a held run go on.

    \b
    corral run resume 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    _move(run_id, Move.RESUME, dry_run=dry_run, as_json=as_json)


def _move(run_id: str, what: Move, *, dry_run: bool, as_json: bool) -> None:
    from corral.cli.running import finish
    from corral.settings import load_settings

    finish(_moved(load_settings(), checked_id(run_id, "run"), what, dry_run=dry_run, as_json=as_json))


async def _moved(settings: "Settings", run_id: str, what: Move, *, dry_run: bool, as_json: bool) -> int:
    from corral.cli import exits, render
    from corral.cli.running import opened_store, read_store

    if dry_run:
        async with read_store(settings) as store:
            run = await store.runs.get(run_id)
        to = advance(run.state, what, run.hold_reason)
        now, then = spoken(run.state, run.hold_reason), spoken(to, None)
        render.print_plan(f"{what} run {run_id} ({now} → {then})", {"run_id": run_id}, as_json=as_json)
        return exits.DONE
    async with opened_store(settings) as store:
        run = await store.runs.apply_action(run_id, what)
    _print_run(run, as_json=as_json)
    return exits.DONE


@app.command("retry")
def retry(run_id: RunArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Start a new run of what an ended one tried, linked to it.

    \b
    corral run retry 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    from corral.cli.running import finish
    from corral.settings import load_settings

    finish(_retry(load_settings(), checked_id(run_id, "run"), dry_run=dry_run, as_json=as_json))


async def _retry(settings: "Settings", run_id: str, *, dry_run: bool, as_json: bool) -> int:
    from corral.cli import exits, render
    from corral.cli.running import read_store
    from corral.domain.errors import WrongState
    from corral.wiring.app import opened

    if dry_run:
        async with read_store(settings) as store:
            run = await store.runs.get(run_id)
        if not run.state.is_terminal:
            raise WrongState("retry a run that has not ended", spoken(run.state, run.hold_reason), terminal=False)
        render.print_plan(f"start a new run of what run {run_id} tried", {"run_id": run_id}, as_json=as_json)
        return exits.DONE
    async with opened(settings, works=False) as app_:
        run, _ = await app_.submitter.retry(run_id)
    _print_run(run, as_json=as_json)
    return exits.DONE


def _print_run(run: "Run", *, as_json: bool) -> None:
    """The id alone in a pipe, so that it can be handed to the next command."""
    from corral.cli import render, shapes

    if as_json:
        render.print_json(shapes.run_shape(run))
    elif render.on_terminal():
        print(f"run {run.id} is {shapes.run_status(run)}")
    else:
        print(run.id)
