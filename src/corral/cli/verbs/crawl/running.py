"""Start or resume, watch and pause the crawl that this command executes."""

import time
from typing import Any

from corral.cli import exits
from corral.cli.verbs.crawl import progress
from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.option_values import LAST
from corral.domain.crawl.payload import CrawlAccess, plan_of
from corral.domain.errors import WrongState
from corral.domain.runs.run import WAITS_FOR_PERSON, HoldReason, Run, RunAction, RunState
from corral.wiring.app import App

_BATCH = 200
_SHOW_EVERY_S = 0.25


async def start_or_resume(
    app: App, plan: CrawlPlan, trusted: tuple[str, ...], access: CrawlAccess, *, keep: bool, restart: bool
) -> Run:
    """Return a new run, or resume the interrupted run of the same plan."""

    same = _comparable_plan(plan)
    for run, now in [] if restart else await app.store.crawls.newest([RunState.HELD, RunState.QUEUED], _BATCH):
        if _comparable_plan(plan_of(run.payload), plan.since) == same and run.hold_reason in (
            HoldReason.PAUSED,
            None,
        ):
            if run.state is RunState.HELD:
                await app.submitter.apply_action(run.id, RunAction.RESUME)
            if keep:
                await app.store.runs.keep(run.id, keep=True)
            exits.complain(f"resuming run {run.id}: {now.counts.done} pages are done", "--restart starts a new crawl")
            return run
    run, _ = await app.crawls.start(plan, trusted_hosts=trusted, keep=keep, access=access)
    if plan.since is not None and plan_of(run.payload).since is None:
        exits.complain("there is no earlier crawl from this address", "the next one can be compared with this one")
    return run


def _comparable_plan(plan: CrawlPlan, requested_since: str | None = None) -> dict[str, Any]:
    """Return the plan as a document, with `last` in place of the run it resolved to, which differs each time."""

    document = plan.document()
    return {**document, "since": LAST} if requested_since == LAST else document


async def pause(app: App, run_id: str) -> bool:
    """Pause the run; return False if it ended in the meantime."""

    try:
        await app.submitter.apply_action(run_id, RunAction.PAUSE)
    except WrongState:
        return False
    return True


def print_resume_hint(run_id: str) -> None:

    hint = f"the same command resumes it; so does `corral run resume {run_id}` while `corral up` runs"
    exits.complain(f"interrupted; run {run_id} is paused, and nothing is lost", hint)


async def watch(app: App, run_id: str, plan: CrawlPlan) -> None:

    with progress.show_progress(plan) as progress_line:
        while True:
            now = await app.store.crawls.get(run_id)
            run = await app.store.runs.get(run_id)
            # Queried only while no page is in progress, to show the reason.
            waits = await app.store.crawls.wait_reason(run_id) if now.counts.pending and not now.counts.leased else None
            progress_line.tick(now, time.monotonic(), waits)
            # A run that waits for a person cannot continue while this command runs.
            if run.state.is_terminal or run.hold_reason in WAITS_FOR_PERSON:
                return
            await app.pulse.wait(_SHOW_EVERY_S)
