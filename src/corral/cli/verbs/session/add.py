"""`corral session add`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import ReportOptions, check_id
from corral.cli.running import finish
from corral.cli.secret_input import read_draft
from corral.cli.stores import read_store
from corral.domain.runs.intervention import InterventionStatus
from corral.domain.sites.session import SessionInfo, parse_session
from corral.engine.usecases.sessions import SessionDraft
from corral.settings import Settings, load_settings
from corral.store.store import Store
from corral.views.sessions import session_read
from corral.wiring.roles import open_client

JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The id of a job.")]


SessionName = Annotated[str, typer.Option("--name", help="Name of the session; replaces one of the same name.")]


@dataclass(frozen=True, kw_only=True)
class SessionAddOptions:
    job_id: JobArgument
    cookies: Annotated[
        Path | None,
        typer.Option(
            "--cookies",
            metavar="FILE",
            help="Cookies as browsers export them, cookies.txt, or a Playwright storage state; - is standard input.",
        ),
    ] = None
    cookie: Annotated[
        list[str] | None,
        typer.Option(
            "--cookie", metavar="NAME=VALUE", help="One cookie; NAME=@FILE reads the value, NAME=- prompts for it."
        ),
    ] = None
    name: SessionName = "default"
    report: ReportOptions


def add(options: SessionAddOptions) -> None:
    """Add a session to a job that requires a login. It is encrypted before it is stored.

    Other users of this machine can read the command line: pass secrets by file (@FILE) or prompt (-).

    \b
    corral session add 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --cookies cookies.json
    corral session add 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --cookie sid=-
    """

    draft = read_draft(options.cookies, options.cookie or (), options.name)
    finish(put(load_settings(), check_id(options.job_id, "job"), draft, options.report))


async def put(settings: Settings, job_id: str, draft: SessionDraft, report: ReportOptions) -> int:

    if report.dry_run:
        async with read_store(settings) as store:
            job = (await store.jobs.get(job_id)).job
        state = parse_session(job.target_url, draft.cookies, draft.storage, draft.headers)
        what = f"add a session of {len(state.cookies)} cookies to job {job_id}"
        render.print_plan(what, {"job_id": job_id, "cookies": len(state.cookies)}, as_json=report.as_json)
        return exits.DONE
    async with open_client(settings) as app_:
        info, _ = await app_.sessions.put(job_id, draft)
        waiting = await _find_waiting_runs(app_.store, job_id)
    print_added(info, waiting, as_json=report.as_json)
    return exits.DONE


async def _find_waiting_runs(store: object, job_id: str) -> list[str]:

    assert isinstance(store, Store)
    interventions = await store.interventions.newest(InterventionStatus.OPEN, None, 200)
    return [intervention.run_id for intervention in interventions if intervention.job_id == job_id]


def print_added(info: SessionInfo, waiting: list[str], *, as_json: bool) -> None:

    if as_json:
        render.print_json(session_read(info))
    else:
        print(info.id)
    for run_id in waiting:
        exits.complain(f"run {run_id} waits for a login", f"resume it with `corral run resume {run_id}`")
