"""`corral run cancel`, `pause` and `resume`."""

from corral.cli import exits, render
from corral.cli.options import AsJson, DryRun, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.verbs.run.keep import RunArgument
from corral.cli.verbs.run.print_run import print_run
from corral.cli.writable_store import open_writable_store
from corral.domain.runs.run import RunAction, advance, spoken
from corral.settings import Settings, load_settings


def cancel(run_id: RunArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Cancel a run that has not ended.

    It stops at once, on whichever node it is executed.

    \b
    corral run cancel 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    _finish_action(run_id, RunAction.CANCEL, dry_run=dry_run, as_json=as_json)


def pause(run_id: RunArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Hold a run until it is resumed.

    An attempt in progress is stopped and does not count.

    \b
    corral run pause 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    _finish_action(run_id, RunAction.PAUSE, dry_run=dry_run, as_json=as_json)


def resume(run_id: RunArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Let a held run go on.

    \b
    corral run resume 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    _finish_action(run_id, RunAction.RESUME, dry_run=dry_run, as_json=as_json)


def _finish_action(run_id: str, action: RunAction, *, dry_run: bool, as_json: bool) -> None:

    finish(_apply(load_settings(), check_id(run_id, "run"), action, dry_run=dry_run, as_json=as_json))


async def _apply(settings: Settings, run_id: str, action: RunAction, *, dry_run: bool, as_json: bool) -> int:

    if dry_run:
        async with read_store(settings) as store:
            run = await store.runs.get(run_id)
        to = advance(run.state, action, run.hold_reason)
        now, then = spoken(run.state, run.hold_reason), spoken(to, None)
        render.print_plan(f"{action} run {run_id} ({now} → {then})", {"run_id": run_id}, as_json=as_json)
        return exits.DONE
    async with open_writable_store(settings) as store:
        run = await store.runs.apply_action(run_id, action)
    print_run(run, as_json=as_json)
    return exits.DONE
