"""`corral session rm`."""

from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, DryRun, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.writable_store import open_writable_store
from corral.settings import Settings, load_settings

SessionArgument = Annotated[str, typer.Argument(metavar="SESSION", help="The id of a session.")]


def rm(session_id: SessionArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Remove a session. It works without the key of the vault.

    \b
    corral session rm 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """

    finish(_rm(load_settings(), check_id(session_id, "session"), dry_run=dry_run, as_json=as_json))


async def _rm(settings: Settings, session_id: str, *, dry_run: bool, as_json: bool) -> int:

    if dry_run:
        async with read_store(settings) as store:
            info = await store.sessions.get(session_id)
        what = f"remove the session {info.name!r} of job {info.job_id}"
        render.print_plan(what, {"session_id": session_id, "job_id": info.job_id}, as_json=as_json)
        return exits.DONE
    async with open_writable_store(settings) as store:
        await store.sessions.delete(session_id)
    render.print_removed("session", session_id, as_json=as_json)
    return exits.DONE
