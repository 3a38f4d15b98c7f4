"""Choose two runs of a job to compare."""

from collections.abc import AsyncIterator
from typing import Protocol

from corral.domain.crawl.payload import plan_of
from corral.domain.errors import BadInput, RunNotFound
from corral.domain.records.changes import COMPARABLE, RunComparison, choose_baseline, compare_runs, has_every_row
from corral.domain.runs.run import CRAWL, Run, RunState

_PAGE_OF_RUNS = 50
# If the last runs of a job all missed rows, the newest of them is used for the comparison.
_MAX_RUNS = 500
_ENDED = (*COMPARABLE, RunState.FAILED)


class RunReader(Protocol):
    async def get(self, run_id: str) -> Run: ...
    async def newest(self, job_id: str | None, state: RunState | None, before: str | None, limit: int) -> list[Run]: ...


async def compare_runs_of_job(
    runs: RunReader, job_id: str, run_id: str | None = None, since: str | None = None
) -> RunComparison:
    """Compare a run of the job with an earlier one; by default, the latest ended run with the one before."""
    if run_id is not None:
        run: Run | None = await _get_of_job(runs, job_id, run_id, "run_id")
    else:
        run = await anext((each async for each in _walk(runs, job_id, None) if each.state in _ENDED), None)
    if run is None:
        raise BadInput("the job has no run that ended", field="run_id", hint="start one, and wait for its end")
    if since is not None:
        return compare_runs(run, await _get_of_job(runs, job_id, since, "since"))
    return compare_runs(run, await _find_baseline(runs, job_id, run))


async def compare_for_export(
    runs: RunReader, run: Run, *, only_changes: bool, since: str | None = None
) -> RunComparison | None:
    """Return the comparison for an export of changes; None for an export of all records."""
    if not only_changes:
        if since is not None:
            hint = "add only_changes, or leave out since"
            raise BadInput("since applies only to an export of changes", field="since", hint=hint)
        return None
    return await compare_run(runs, run, since)


async def compare_run(runs: RunReader, run: Run, since: str | None = None) -> RunComparison:
    """Compare a run with an earlier one of its job; a crawl without a job with the crawl that it started from."""
    if run.job_id is not None:
        return await compare_runs_of_job(runs, run.job_id, run.id, since)
    earlier = since or (plan_of(run.payload).since if run.kind == CRAWL else None)
    if earlier is None:
        hint = "export the run of a job, or a crawl with --since, or name the earlier run"
        raise BadInput(f"run {run.id} belongs to no job: there is no earlier run", field="only_changes", hint=hint)
    try:
        baseline = await runs.get(earlier)
    except RunNotFound:
        raise BadInput(f"the earlier run {earlier} was deleted", field="since") from None
    if baseline.kind != run.kind:
        raise BadInput(f"run {earlier} is of another kind", field="since", hint="name an earlier crawl")
    return compare_runs(run, baseline)


async def _get_of_job(runs: RunReader, job_id: str, run_id: str, field: str) -> Run:
    run = await runs.get(run_id)
    if run.job_id != job_id:
        raise BadInput(f"run {run_id} is of another job", field=field, hint="name a run of this job")
    return run


async def _find_baseline(runs: RunReader, job_id: str, run: Run) -> Run | None:
    earlier: list[Run] = []
    async for earlier_run in _walk(runs, job_id, run.id):
        earlier.append(earlier_run)
        if (candidate := choose_baseline(run, [earlier_run])) is not None and has_every_row(candidate):
            break
    return choose_baseline(run, earlier)


async def _walk(runs: RunReader, job_id: str, before: str | None) -> AsyncIterator[Run]:
    """Yield the runs of the job from newest to oldest."""
    for _ in range(_MAX_RUNS // _PAGE_OF_RUNS):
        page = await runs.newest(job_id, None, before, _PAGE_OF_RUNS)
        for run in page:
            yield run
        if len(page) < _PAGE_OF_RUNS:
            return
        before = page[-1].id
