"""`corral run accept`: accept the data of a run in spite of its verdict."""

from corral.cli import exits, render
from corral.cli.options import AsJson, DryRun, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.verbs.run.keep import RunArgument
from corral.cli.verbs.run.print_run import print_run
from corral.cli.writable_store import open_writable_store
from corral.domain.errors import NothingToAccept
from corral.domain.verdicts.run_verdict import ACCEPTED, VERDICT, is_withheld
from corral.settings import Settings, load_settings


def accept(run_id: RunArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Accept the data of a run whose verdict is suspect or broken.

    Its records become ordinary, and later runs are compared with it.

    \b
    corral run accept 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """

    finish(_accept(load_settings(), check_id(run_id, "run"), dry_run=dry_run, as_json=as_json))


async def _accept(settings: Settings, run_id: str, *, dry_run: bool, as_json: bool) -> int:

    if dry_run:
        async with read_store(settings) as store:
            run = await store.runs.get(run_id)
        if not is_withheld(run.stats):
            raise NothingToAccept(run_id, run.stats.get(VERDICT), is_accepted=ACCEPTED in run.stats)
        render.print_plan(f"accept the data of run {run_id}", {"run_id": run_id}, as_json=as_json)
        return exits.DONE
    async with open_writable_store(settings) as store:
        run = await store.runs.accept_data(run_id)
    print_run(run, as_json=as_json)
    return exits.DONE
