"""`corral demo`: Corral with a sample site, jobs for it, and the dashboard."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.api.binding import bind_listener
from corral.cli import render, shapes
from corral.cli.options import AsJson, ListenOptions
from corral.cli.progress import run as progress
from corral.cli.running import Stop
from corral.cli.serving.api import serve_api
from corral.cli.serving.finish import finish_serving
from corral.cli.serving.listener import Listener, announcement, open_listener
from corral.demo import DEMO_JOBS, DemoJob, RunningSite, running_site
from corral.domain.errors import BadConfiguration
from corral.domain.fields.spec import FieldSpec
from corral.domain.ids import JobId
from corral.domain.jobs.job import Job, Priority, StoredJob, Strategy
from corral.domain.net.address import AllowEntry
from corral.domain.net.url import parse_target
from corral.domain.runs.run import TERMINAL, Run, RunState
from corral.log import configure_logging
from corral.runtime.new_ids import new_id
from corral.settings import Settings, load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_node

_SITE_HOST = "127.0.0.1"
_SITE_PORT = 8001
_WAIT_S = 15.0
# Short, so that a viewer sees the retries happen.
_RETRY_BASE_S = 1.0
_MANY_JOBS = 1000
# The demo site shows every fault, so its breaker opens late and for a short time.
_BREAKER_FAILURES = 25
_BREAKER_OPEN_S = 20.0
_MAX_DELAY_S = 0.5


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    listen: ListenOptions
    site_port: Annotated[
        int | None,
        typer.Option(
            "--site-port", min=0, max=65535, help="Port of the demo site (default: 8001, or a free one if taken)."
        ),
    ] = None
    as_json: AsJson = False


def demo(options: DemoOptions) -> None:
    """Start a sample site, jobs for it, and the dashboard.

    The data folder is var/demo unless APP_DATA_DIR is set; a second start continues with its data.

    \b
    corral demo
    corral demo --port 9000
    corral demo --json | jq .       a line when it answers, and one with the result of each job
    """

    settings = load_settings()
    configure_logging("warning" if settings.log_level == "info" else settings.log_level)
    listener = open_listener(settings, options.listen)
    finish_serving(_demo(settings, listener, options.site_port, as_json=options.as_json))


async def _demo(settings: Settings, listener: Listener, site_port: int | None, *, as_json: bool) -> int:

    stop = Stop(grace_s=settings.shutdown_grace_seconds)
    stop.listen()
    async with running_site(_SITE_HOST, _site_port(site_port)) as site:
        adapted = adapt_settings(settings, site)
        role = "up" if as_json else f"is up; the demo site is at {site.url}"
        message = announcement(adapted, listener, role, as_json=as_json, site=site.url)
        async with open_node(adapted) as app:
            assert app.node is not None
            stop.on_repeat = app.node.stop_now
            beside = _run_demo_jobs(app, site, listener.url, as_json=as_json)
            await serve_api(app, listener, stop, announce=message, beside=beside)
    return stop.exit_code


def _site_port(requested: int | None) -> int:
    """Return the port of the demo site: the requested one, else the usual one, or a free one if that is taken."""

    try:
        bind_listener(_SITE_HOST, _SITE_PORT if requested is None else requested).close()
    except BadConfiguration:
        if requested is None:
            return 0
        raise
    return _SITE_PORT if requested is None else requested


def adapt_settings(settings: Settings, site: RunningSite) -> Settings:
    """Allow jobs to reach the demo site at exactly its address and port; keep all other settings."""

    changes: dict[str, Any] = {
        "egress_allow": (*settings.egress_allow, AllowEntry.parse(f"{site.host}/32:{site.port}"))
    }
    if "data_dir" not in settings.model_fields_set:
        changes["data_dir"] = Path("var/demo")
    quicker = {
        "retry_base_seconds": _RETRY_BASE_S,
        "breaker_failures": _BREAKER_FAILURES,
        "breaker_open_seconds": _BREAKER_OPEN_S,
        "host_max_delay_seconds": _MAX_DELAY_S,
    }
    changes |= {name: value for name, value in quicker.items() if name not in settings.model_fields_set}
    return settings.model_copy(update=changes)


async def _run_demo_jobs(app: App, site: RunningSite, url: str, *, as_json: bool) -> None:
    """Start the demo jobs, wait for the quick ones, and print the results."""

    if not as_json:
        print("\nstarting a run of each demo job", flush=True)
    with progress.waiting("waiting for the quick ones"):
        started = [(demo_job, await _run_of(app, demo_job, site)) for demo_job in _demo_jobs()]
        deadline = time.monotonic() + _WAIT_S
        runs = [run for _, run in started]
        while not all(run.state.is_terminal for run in runs) and time.monotonic() < deadline:
            await app.pulse.wait(0.25)
            runs = [await app.store.runs.get(run.id) for run in runs]
    if as_json:
        pairs = [(demo_job, run) for (demo_job, _), run in zip(started, runs, strict=True)]
        jobs = [
            {"job": demo_job.name, "shows": demo_job.shows, "run": shapes.run_shape(run)} for demo_job, run in pairs
        ]
        render.print_json({"jobs": jobs}, compact=True)
        return
    rows = [_row(demo_job, run) for (demo_job, _), run in zip(started, runs, strict=True)]
    render.print_table(("job", "shows…", "status", "tries", "result…"), rows)
    print(f"look around at {url}/ or, in another terminal: {_list_command(app)}", flush=True)


def _list_command(app: App) -> str:
    return f"APP_DATA_DIR={app.settings.data_dir} corral run list"


def _demo_jobs() -> tuple[DemoJob, ...]:

    return DEMO_JOBS


def _row(demo_job: DemoJob, run: Run) -> tuple[str, ...]:

    tries = len(run.attempts) or run.attempt
    result = f"{run.failure_code}: {run.error_message}" if run.failure_code else run.stats.get("title") or ""
    return (demo_job.name, demo_job.shows, shapes.run_status(run), str(tries), str(result))


async def _run_of(app: App, demo_job: DemoJob, site: RunningSite) -> Run:
    """Return the live run of the demo job, or start a new one."""

    stored = await job_for(app, demo_job, site)
    if stored.latest_state is not None and RunState(stored.latest_state) not in TERMINAL:
        [latest] = await app.store.runs.newest(stored.job.id, None, None, 1)
        return latest
    run, _ = await app.submitter.start(stored.job.id)
    return run


async def job_for(app: App, demo_job: DemoJob, site: RunningSite) -> StoredJob:
    """Return the job of an earlier start, with the current port of the site, or a new job."""
    wanted = _job(demo_job, site)
    for stored in await app.store.jobs.newest(None, _MANY_JOBS):
        if _is_same(stored.job, wanted):
            if stored.job.target_url == wanted.target_url:
                return stored
            return await app.jobs.change(stored.job.id, {"target_url": wanted.target_url})
    created, _ = await app.jobs.create(wanted)
    return created


def _is_same(job: Job, other: Job) -> bool:
    """Compare two jobs of the demo site without its port."""

    here, there = parse_target(job.target_url), parse_target(other.target_url)
    return (here.host, here.path, here.query) == (there.host, there.path, there.query) and job.fields == other.fields


def _job(demo_job: DemoJob, site: RunningSite) -> Job:

    return Job(
        id=JobId(new_id()),
        target_url=site.url + demo_job.path,
        fields=tuple(FieldSpec(name) for name in demo_job.fields),
        created_at=datetime.now(UTC),
        frequency=demo_job.frequency,
        strategy=Strategy(demo_job.strategy),
        priority=Priority[demo_job.priority.upper()],
        max_attempts=demo_job.max_attempts,
        timeout_s=demo_job.timeout_s,
    )
