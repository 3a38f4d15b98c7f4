"""`corral session check` and `rotate`."""

from dataclasses import asdict
from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, DryRun, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.log import configure_logging
from corral.settings import Settings, load_settings
from corral.views.sessions import check_read
from corral.wiring.roles import open_client
from corral.wiring.vault import check_vault_keys

SessionArgument = Annotated[str, typer.Argument(metavar="SESSION", help="The id of a session.")]
_GROUPS = {"proxy": "proxy", "alert channel": "alert"}


def check(session_id: SessionArgument, as_json: AsJson = False) -> None:
    """Request the job's target with a session. Exit code: 0 logged in, 1 not.

    \b
    corral session check 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """

    finish(_check(load_settings(), check_id(session_id, "session"), as_json=as_json))


async def _check(settings: Settings, session_id: str, *, as_json: bool) -> int:

    configure_logging("error")
    async with open_client(settings) as app_:
        result = await app_.sessions.check(session_id)
    shape = check_read(session_id, result)
    if as_json:
        render.print_json(shape)
    else:
        print(f"{result.result.value}: {render.printable(result.reason)}")
    return exits.DONE if shape["valid"] else exits.FAILED


def rotate(dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Encrypt every session, proxy and alert channel with a new key. Nothing has to be stopped.

    With the key in a file, Corral creates a new one. With APP_VAULT_KEY, put the new key before the old one first
    (NEW,OLD), restart, rotate, and drop the old one at the next restart.

    \b
    corral session rotate
    """
    finish(_rotate(load_settings(), dry_run=dry_run, as_json=as_json))


async def _rotate(settings: Settings, *, dry_run: bool, as_json: bool) -> int:
    if dry_run:
        async with read_store(settings) as store:
            await check_vault_keys(settings, store)
            count = sum((await store.sessions.count_keys()).values())
        render.print_plan(f"encrypt {count} sessions with the newest key", {"sessions": count}, as_json=as_json)
        return exits.DONE
    async with open_client(settings) as app_:
        done = await app_.sessions.rotate()
    if as_json:
        render.print_json(asdict(done))
    else:
        print(f"{done.rewrapped} sessions, proxies and alert channels are now encrypted with the key {done.kid}")
    for name in done.broken:
        exits.complain(f"{name} can no longer be decrypted", _remedy(name))
    return exits.FAILED if done.broken else exits.DONE


def _remedy(name: str) -> str:
    kind, _, key = name.rpartition(" ")
    if kind == "job":  # only its proxy is broken
        return f"set its `proxy_policy` again: PATCH /jobs/{key}"
    return f"remove it, or add it again: `corral {_GROUPS.get(kind, 'session')} rm {key}`"
