"""`corral session list`."""

from corral.cli import exits, render
from corral.cli.options import AsJson, Limit
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.settings import Settings, load_settings
from corral.views.sessions import session_read


def list_(limit: Limit = 50, as_json: AsJson = False) -> None:
    """List sessions, newest first. Their contents are never shown.

    \b
    corral session list
    corral session list --json | jq -r '.[].id'
    """

    finish(_list(load_settings(), limit, as_json=as_json))


async def _list(settings: Settings, limit: int, *, as_json: bool) -> int:

    async with read_store(settings) as store:
        sessions = await store.sessions.newest(None, None, limit)
    if as_json:
        render.print_json([session_read(info) for info in sessions])
        return exits.DONE
    rows = [
        (info.id, info.job_id, info.name, info.check.value, render.ago(info.updated_at), info.about["cookies"])
        for info in sessions
    ]
    nothing = "no sessions yet; add one with `corral session add JOB --cookies FILE.json`"
    render.print_table(("id", "job", "name?", "check", "updated", "cookies?"), rows, nothing=nothing)
    return exits.DONE
