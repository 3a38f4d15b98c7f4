"""Runs: start, read, list, cancel, pause, resume, accept, retry."""

import contextlib
from typing import Annotated, Any, Literal

from fastapi import Query
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Cursor, Id, Key, Limit, replay_header
from corral.api.routing import make_router
from corral.api.schemas.common import RunOverrides, RunRead
from corral.domain.crawl.crawl import Counts
from corral.domain.errors import RunNotFound, WorkflowNotFound
from corral.domain.jobs.job import Priority, Strategy
from corral.domain.runs.run import CRAWL, WORKFLOW, Run, RunAction, RunState
from corral.domain.workflows.progress import StepCounts
from corral.engine.usecases.submit import Overrides

router = make_router("runs")

Status = Literal[
    "queued", "running", "held", "paused", "waiting_for_human", "completed", "partial", "failed", "cancelled"
]
_HELD = frozenset({"paused", "waiting_for_human"})
_BATCH = 200


@router.post("/jobs/{job_id}/runs", response_model=RunRead)
async def start_run(job_id: Id, corral: Corral, key: Key, body: RunOverrides | None = None) -> Response:
    overrides = _overrides(body) if body else None
    run, replayed = await corral.submitter.start(str(job_id), overrides, key)
    return render.answer(render.run(run), headers=replay_header(replayed))


def _overrides(body: RunOverrides) -> Overrides:
    return Overrides(
        priority=Priority[body.priority.upper()] if body.priority else None,
        strategy=Strategy(body.strategy) if body.strategy else None,
        max_attempts=body.max_attempts,
    )


@router.get("/jobs/runs", response_model=list[RunRead])
async def list_runs(
    corral: Corral,
    limit: Limit = 50,
    cursor: Cursor = None,
    job_id: Id | None = None,
    status: Annotated[Status | None, Query()] = None,
) -> Response:
    found = await _newest(corral, str(job_id) if job_id else None, status, cursor, limit)
    return render.page([await _render_run(corral, run) for run in found], found[-1].id if found else None, limit)


async def _render_run(corral: Corral, run: Run) -> dict[str, Any]:
    """Render a run. A crawl or workflow has its counts in the statistics only after it ended by itself."""
    counts: Counts | StepCounts | None = None
    if run.kind == WORKFLOW and "steps" not in run.stats:
        with contextlib.suppress(WorkflowNotFound):
            counts = (await corral.store.workflows.get(run.id)).counts
    if run.kind == CRAWL and Counts._fields[0] not in run.stats:
        with contextlib.suppress(RunNotFound):  # deleted since it was listed
            counts = (await corral.store.crawls.get(run.id)).counts
    return render.run(run, counts)


async def _newest(
    corral: Corral, job_id: str | None, status: Status | None, cursor: str | None, limit: int
) -> list[Run]:
    state = None if status is None else RunState.HELD if status in _HELD else RunState(status)
    before = render.cursor_id(cursor)
    if status not in _HELD:
        return await corral.store.runs.newest(job_id, state, before, limit)
    # The hold reason is filtered here, so a page may need several reads.
    found: list[Run] = []
    while len(found) < limit and (batch := await corral.store.runs.newest(job_id, state, before, _BATCH)):
        found += [run for run in batch if run.hold_reason == status]
        before = batch[-1].id
    return found[:limit]


@router.get("/jobs/{job_id}/runs", response_model=list[RunRead])
async def list_runs_of_job(job_id: Id, corral: Corral, limit: Limit = 25, cursor: Cursor = None) -> Response:
    await corral.store.jobs.get(str(job_id))
    found = await _newest(corral, str(job_id), None, cursor, limit)
    return render.page([await _render_run(corral, run) for run in found], found[-1].id if found else None, limit)


@router.get("/jobs/runs/{run_id}", response_model=RunRead)
async def read_run(run_id: Id, corral: Corral) -> Response:
    run = await corral.store.runs.get(str(run_id))
    return render.answer(await _render_run(corral, run))


@router.post("/jobs/runs/{run_id}/cancel", response_model=RunRead)
async def cancel_run(run_id: Id, corral: Corral) -> Response:
    return render.answer(await _render_run(corral, await corral.submitter.apply_action(str(run_id), RunAction.CANCEL)))


@router.post("/jobs/runs/{run_id}/pause", response_model=RunRead)
async def pause_run(run_id: Id, corral: Corral) -> Response:
    return render.answer(await _render_run(corral, await corral.submitter.apply_action(str(run_id), RunAction.PAUSE)))


@router.post("/jobs/runs/{run_id}/resume", response_model=RunRead)
async def resume_run(run_id: Id, corral: Corral) -> Response:
    return render.answer(await _render_run(corral, await corral.submitter.apply_action(str(run_id), RunAction.RESUME)))


@router.post("/jobs/runs/{run_id}/accept", response_model=RunRead)
async def accept_run(run_id: Id, corral: Corral) -> Response:
    """Accept data in spite of its verdict: its records become ordinary, and later runs are compared with it."""
    return render.answer(await _render_run(corral, await corral.store.runs.accept_data(str(run_id))))


@router.post("/jobs/runs/{run_id}/retry", response_model=RunRead)
async def retry_run(run_id: Id, corral: Corral, key: Key) -> Response:
    run, replayed = await corral.submitter.retry(str(run_id), key)
    return render.answer(render.run(run), headers=replay_header(replayed))
