"""`corral session capture`: log in once and save the session."""

import asyncio
import sys
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import ReportOptions, check_id
from corral.cli.running import finish
from corral.cli.secret_input import parse_named_value
from corral.cli.stores import read_store
from corral.cli.verbs.session.add import JobArgument, SessionName, put
from corral.domain.errors import BadInput, CorralError
from corral.domain.jobs.job import Job
from corral.domain.net.url import parse_target
from corral.domain.secret import Secret
from corral.engine.usecases.sessions import SessionDraft
from corral.fetch.browser.launch_args import has_screen
from corral.log import configure_logging
from corral.settings import Settings, load_settings
from corral.wiring.app import App
from corral.wiring.login import login_browser
from corral.wiring.roles import open_client


@dataclass(frozen=True, slots=True)
class Form:
    url: str | None
    fills: list[tuple[str, Secret[str]]] = field(default_factory=list)
    submit: str | None = None


@dataclass(frozen=True, kw_only=True)
class CaptureOptions:
    job_id: JobArgument
    login_url: Annotated[
        str | None, typer.Option("--login-url", metavar="URL", help="The page with the login form.")
    ] = None
    fill: Annotated[
        list[str] | None,
        typer.Option(
            "--fill",
            metavar="FIELD=VALUE",
            help="Type into a field; FIELD=@FILE reads the value, FIELD=- prompts for it.",
        ),
    ] = None
    submit: Annotated[
        str | None, typer.Option("--submit", metavar="SELECTOR", help="The button (default: the form's own).")
    ] = None
    name: SessionName = "default"
    report: ReportOptions


def capture(options: CaptureOptions) -> None:
    """Log in, in a window or through a form, and save the session.

    The login address may be a private one, because you typed it; only that host is reachable.
    Other users of this machine can read the command line: pass secrets by file (@FILE) or prompt (-).

    \b
    corral session capture 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    corral session capture 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --login-url https://example.com/login \\
      --fill user=me --fill password=-
    """

    pairs = [parse_named_value(text, "--fill") for text in options.fill or ()]
    form = Form(options.login_url, [(field_name, Secret(value)) for field_name, value in pairs], options.submit)
    finish(_capture(load_settings(), check_id(options.job_id, "job"), form, options.name, options.report))


async def _capture(settings: Settings, job_id: str, form: Form, name: str, report: ReportOptions) -> int:

    configure_logging("error")
    if form.fills and form.url is None:
        raise BadInput("--fill needs the page with the form", field="login-url", hint="add --login-url URL")
    if not form.fills and not has_screen():
        exits.complain(
            "there is no screen to show a browser on",
            "log in elsewhere and pass the cookies: `corral session add JOB --cookies FILE.json`; "
            "or let Corral fill in a form: --login-url URL --fill user=… --fill password=-",
        )
        return exits.FAILED
    if report.dry_run:
        async with read_store(settings) as store:
            job = (await store.jobs.get(job_id)).job
        at = form.url or job.target_url
        render.print_plan(f"log in at {at} for job {job_id}", {"job_id": job_id, "url": at}, as_json=report.as_json)
        return exits.DONE
    async with open_client(settings) as app:
        job = (await app.store.jobs.get(job_id)).job
        state = await _log_in(app, form, job)
    draft = SessionDraft(state["cookies"], state["storage"], name=name)
    return await put(settings, job_id, draft, report)


async def _log_in(app: App, form: Form, job: Job) -> dict[str, Any]:

    target = parse_target(form.url or job.target_url, field="login-url")
    hosts = {f"{target.host}:{target.port}", *job.trusted_hosts} if form.url else set(job.trusted_hosts)
    headed, verifies_tls = not form.fills, job.verify_tls
    async with login_browser(app.settings, hosts, headed=headed, proxy=job.proxy, verifies_tls=verifies_tls) as page:
        await page.open(target.url)
        if form.fills:
            for field_name, value in form.fills:
                await page.fill(field_name, value)
            await page.submit(form.submit)
            state = await page.state()
            await page.check_target(job.target_url)
        else:
            how = "press Enter here or close it" if sys.stdin.isatty() else "close it"
            print(f"log in in the window, then {how}", file=sys.stderr, flush=True)
            state = await page.until_done(_watch_enter_key())
    if not state["cookies"] and not state["storage"]:
        raise CorralError("the login left no cookie and nothing stored", hint="was it finished?")
    return state


def _watch_enter_key() -> asyncio.Event:
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    if sys.stdin.isatty():
        loop.add_reader(sys.stdin.fileno(), done.set)
    return done
