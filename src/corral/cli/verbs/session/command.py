"""`corral session`: logins of jobs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corral.cli.options import AsJson, DryRun, Limit, checked_id
from corral.cli.verbs.session import capture

if TYPE_CHECKING:
    from corral.domain.sites.session import SessionInfo
    from corral.engine.usecases.sessions import SessionDraft
    from corral.settings import Settings

app = typer.Typer(no_args_is_help=True, help="Logins of jobs: add, capture, list, check, rotate and remove sessions.")

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The id of a job.")]
SessionArgument = Annotated[str, typer.Argument(metavar="SESSION", help="The id of a session.")]
Name = Annotated[str, typer.Option("--name", help="A job may have several; one of the same name is replaced.")]

app.command("capture")(capture.capture)


@app.command("add")
def add(
    job_id: JobArgument,
    *,
    cookies: Annotated[
        Path | None,
        typer.Option(
            "--cookies",
            metavar="FILE",
            help="Cookies as browsers export them, cookies.txt, or a Playwright storage state; - is standard input.",
        ),
    ] = None,
    cookie: Annotated[
        list[str] | None,
        typer.Option(
            "--cookie", metavar="NAME=VALUE", help="One cookie; NAME=@FILE reads the value, NAME=- asks for it."
        ),
    ] = None,
    name: Name = "default",
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add a session to a job that requires a login. It is encrypted before it is stored.

    Others on this machine can see what is written on a command line; a file or the prompt keeps it to yourself.

    \b
    corral session add 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --cookies cookies.json
    corral session add 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --cookie sid=-
    """
    from corral.cli.running import finish
    from corral.cli.secret_input import read_draft
    from corral.settings import load_settings

    draft = read_draft(cookies, cookie or (), name)
    finish(put(load_settings(), checked_id(job_id, "job"), draft, dry_run=dry_run, as_json=as_json))


async def put(settings: "Settings", job_id: str, draft: "SessionDraft", *, dry_run: bool, as_json: bool) -> int:
    from corral.cli import exits, render
    from corral.cli.running import read_store
    from corral.domain.sites.session import parse_session
    from corral.wiring.app import opened

    if dry_run:
        async with read_store(settings) as store:
            job = (await store.jobs.get(job_id)).job
        state = parse_session(job.target_url, draft.cookies, draft.storage, draft.headers)
        what = f"add a session of {len(state.cookies)} cookies to job {job_id}"
        render.print_plan(what, {"job_id": job_id, "cookies": len(state.cookies)}, as_json=as_json)
        return exits.DONE
    async with opened(settings, works=False) as app_:
        info, _ = await app_.sessions.put(job_id, draft)
        waiting = await _waiting(app_.store, job_id)
    print_added(info, waiting, as_json=as_json)
    return exits.DONE


async def _waiting(store: object, job_id: str) -> list[str]:
    from corral.domain.runs.intervention import InterventionStatus
    from corral.store.store import Store

    assert isinstance(store, Store)
    found = await store.interventions.newest(InterventionStatus.OPEN, None, 200)
    return [each.run_id for each in found if each.job_id == job_id]


def print_added(info: "SessionInfo", waiting: list[str], *, as_json: bool) -> None:
    from corral.cli import exits, render
    from corral.views.sessions import session_read

    if as_json:
        render.print_json(session_read(info))
    else:
        print(info.id)
    for run_id in waiting:
        exits.complain(f"run {run_id} waits for a login", f"let it go on with `corral run resume {run_id}`")


@app.command("list")
def list_(limit: Limit = 50, as_json: AsJson = False) -> None:
    """List sessions, newest first. What they hold is never shown.

    \b
    corral session list
    corral session list --json | jq -r '.[].id'
    """
    from corral.cli.running import finish
    from corral.settings import load_settings

    finish(_list(load_settings(), limit, as_json=as_json))


async def _list(settings: "Settings", limit: int, *, as_json: bool) -> int:
    from corral.cli import exits, render
    from corral.cli.running import read_store
    from corral.views.sessions import session_read

    async with read_store(settings) as store:
        found = await store.sessions.newest(None, None, limit)
    if as_json:
        render.print_json([session_read(info) for info in found])
        return exits.DONE
    rows = [
        (info.id, info.job_id, info.name, info.check.value, render.ago(info.updated_at), info.about["cookies"])
        for info in found
    ]
    nothing = "no sessions yet; add one with `corral session add JOB --cookies FILE.json`"
    render.print_table(("id", "job", "name?", "check", "updated", "cookies?"), rows, nothing=nothing)
    return exits.DONE


@app.command("check")
def check(session_id: SessionArgument, as_json: AsJson = False) -> None:
    """Look at the job's target with a session. Exit code: 0 logged in, 1 not.

    \b
    corral session check 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    from corral.cli.running import finish
    from corral.settings import load_settings

    finish(_check(load_settings(), checked_id(session_id, "session"), as_json=as_json))


async def _check(settings: "Settings", session_id: str, *, as_json: bool) -> int:
    from corral.cli import exits, render
    from corral.log import configure_logging
    from corral.views.sessions import check_read
    from corral.wiring.app import opened

    configure_logging("error")
    async with opened(settings, works=False) as app_:
        found = await app_.sessions.check(session_id)
    shape = check_read(session_id, found)
    if as_json:
        render.print_json(shape)
    else:
        print(f"{found.result.value}: {render.printable(found.reason)}")
    return exits.DONE if shape["valid"] else exits.FAILED


@app.command("rotate")
def rotate(dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Put every session under a new key. Nothing has to be stopped.

    With the key in a file, a new one is made. With APP_VAULT_KEY, put the new key before the old one first
    (NEW,OLD), restart, rotate, and drop the old one at the next restart.

    \b
    corral session rotate
    """
    from corral.cli.running import finish
    from corral.settings import load_settings

    finish(_rotate(load_settings(), dry_run=dry_run, as_json=as_json))


async def _rotate(settings: "Settings", *, dry_run: bool, as_json: bool) -> int:
    from dataclasses import asdict

    from corral.cli import exits, render
    from corral.cli.running import read_store
    from corral.wiring.app import checked_keys, opened

    if dry_run:
        async with read_store(settings) as store:
            await checked_keys(settings, store)
            count = sum((await store.sessions.count_keys()).values())
        render.print_plan(f"put {count} sessions under the newest key", {"sessions": count}, as_json=as_json)
        return exits.DONE
    async with opened(settings, works=False) as app_:
        done = await app_.sessions.rotate()
    if as_json:
        render.print_json(asdict(done))
    else:
        print(f"{done.rewrapped} sessions are now under the key {done.kid}")
    for session_id in done.broken:
        exits.complain(f"session {session_id} does not open any more", f"remove it: `corral session rm {session_id}`")
    return exits.FAILED if done.broken else exits.DONE


@app.command("rm")
def rm(session_id: SessionArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Remove a session. It works without the key of the vault.

    \b
    corral session rm 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    from corral.cli.running import finish
    from corral.settings import load_settings

    finish(_rm(load_settings(), checked_id(session_id, "session"), dry_run=dry_run, as_json=as_json))


async def _rm(settings: "Settings", session_id: str, *, dry_run: bool, as_json: bool) -> int:
    from corral.cli import exits, render
    from corral.cli.running import opened_store, read_store

    if dry_run:
        async with read_store(settings) as store:
            info = await store.sessions.get(session_id)
        what = f"remove the session {info.name!r} of job {info.job_id}"
        render.print_plan(what, {"session_id": session_id, "job_id": info.job_id}, as_json=as_json)
        return exits.DONE
    async with opened_store(settings) as store:
        await store.sessions.delete(session_id)
    render.print_removed("session", session_id, as_json=as_json)
    return exits.DONE
