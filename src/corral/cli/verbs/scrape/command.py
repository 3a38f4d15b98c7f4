"""`corral scrape`: one page, now, without a server."""

import contextlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from corral.cli import exits, files, hints, render, shapes
from corral.cli.job_draft import draft_job, parse_fields, proxy_of
from corral.cli.options import (
    AsJson,
    Css,
    DryRun,
    Fields,
    Jsonpath,
    MaxAttempts,
    NoVerifyTls,
    ProxyOption,
    StrategyOption,
    TimeoutS,
    Xpath,
)
from corral.cli.preflight import check_host
from corral.cli.progress import history
from corral.cli.progress import run as progress
from corral.cli.running import Stop, finish, first_of
from corral.cli.verbs.crawl.fetch_options import check_destination, is_standard_output
from corral.cli.verbs.run.records import print_records, records_of
from corral.domain.errors import JobNotFound, WrongState
from corral.domain.jobs.job import Job, Strategy
from corral.domain.net.http_cache import CacheMode
from corral.domain.runs.record import Record
from corral.domain.runs.run import Run, RunAction, RunState
from corral.log import configure_logging
from corral.settings import Settings, load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_client, open_single_run

_ALL = 1_000_000


OutputFile = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write as .json, .jsonl, .csv, .parquet or .xlsx; - prints lines of JSON.",
    ),
]
Cache = Annotated[
    CacheMode | None, typer.Option("--cache", help="Reuse responses stored on disk. Default: APP_HTTP_CACHE.")
]


@dataclass(frozen=True, slots=True)
class Output:
    path: Path | None
    as_json: bool


def scrape(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page to collect from.")],
    *,
    fields: Fields = "",
    css: Css = None,
    xpath: Xpath = None,
    jsonpath: Jsonpath = None,
    strategy: StrategyOption = Strategy.AUTO,
    timeout: TimeoutS = None,
    max_attempts: MaxAttempts = None,
    output: OutputFile = None,
    proxy: ProxyOption = None,
    no_verify_tls: NoVerifyTls = False,
    cache: Cache = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Collect fields from one page, now.

    The address was typed by a person, so it may be a private one; only that host is reached.
    Exit code: 0 all fields found, 3 some of them, 1 failed, 130 interrupted (the run is cancelled).

    \b
    corral scrape https://example.com --fields title,description
    corral scrape https://example.com/shop --css price=.price -o prices.csv
    corral scrape https://example.com/feed.xml --xpath newest=//item/title
    corral scrape https://example.com --fields title --json | jq -r '.records[0].title'
    """

    settings = load_settings() if cache is None else load_settings(http_cache=cache)
    job = draft_job(
        settings,
        url,
        parse_fields(fields, css, xpath, jsonpath),
        strategy=strategy,
        max_attempts=max_attempts,
        timeout_s=timeout,
        trusts_host=True,
        verify_tls=not no_verify_tls,
        proxy=proxy_of(settings, proxy, dry_run=dry_run),
    )
    wanted = Output(_check_output(output, as_json=as_json), as_json)
    if dry_run:
        _say(job, wanted)
    else:
        finish(_scrape(settings, job, wanted))


def _check_output(output: Path | None, *, as_json: bool) -> Path | None:

    return check_destination(output, as_json=as_json, keeps_pages=False)


def _say(job: Job, output: Output) -> None:

    if output.as_json:
        path = None if output.path is None else str(output.path)
        render.print_json({"would": "scrape", "job": shapes.draft_shape(job), "output": path})
        return
    names = ", ".join(spec.name for spec in job.fields)
    where = f" into {output.path}" if output.path else ""
    print(f"would collect {names} from {job.target_url} ({job.strategy}){where}; nothing was fetched or written")


async def _scrape(settings: Settings, job: Job, output: Output) -> int:

    configure_logging("error")
    stop = Stop()
    stop.listen()
    await check_host(settings, job.target_url, job.trusted_hosts)
    run = await _start(settings, job, stop)
    if run is None:
        exits.complain("interrupted before a run was started")
        return exits.INTERRUPTED
    async with open_single_run(settings, run.id) as app:
        assert app.node is not None
        stop.on_haste = app.node.stop_now
        ended = await _execute(app, run, stop)
        run = await app.store.runs.get(run.id)
        found = await _records(app, run.id)
    return _report(run, found, job, output) if ended else exits.INTERRUPTED


async def _start(settings: Settings, job: Job, stop: Stop) -> Run | None:
    """Create the run without executing it: the executing node needs its id first."""

    made: list[Run] = []

    async def make(app: App) -> None:
        stored, _ = await app.jobs.create(job, probes=False)
        run, _ = await app.submitter.start(stored.job.id)
        made.append(run)

    async with open_client(settings) as app:
        with progress.waiting(f"asking {job.target_url} how it answers"):
            await first_of(make(app), stop)
        if made:
            return made[0]
        with contextlib.suppress(JobNotFound):
            await app.store.jobs.delete(job.id)
    return None


async def _execute(app: App, run: Run, stop: Stop) -> bool:
    """Show the progress of the run until it ends. Return False if the user interrupted and so cancelled it."""

    with progress.show_progress(run.max_attempts) as progress_line:
        if await first_of(_watch(app, run.id, progress_line), stop):
            return True
        try:
            await app.submitter.apply_action(run.id, RunAction.CANCEL)
        except WrongState:
            return True  # it ended in the same moment
    exits.complain(f"interrupted; run {run.id} is cancelled", f"start it anew with `corral run retry {run.id}`")
    return False


# By name: the command line does not load what these belong to before it is needed.
_WAITS_FOR_PERSON = frozenset({"waiting", "quarantined"})


async def _watch(app: App, run_id: str, progress_line: progress.RunProgress) -> None:

    async def wait(seconds: float) -> None:
        progress_line.tick()
        await app.pulse.wait(seconds)

    async for event in history.follow(app.store, run_id, wait):
        progress_line.on_event(event)
        if event.kind in _WAITS_FOR_PERSON:
            return  # no person resumes it while this command runs


async def _records(app: App, run_id: str) -> list[Record]:

    return await records_of(app.store, run_id, _ALL)


def _report(run: Run, found: list[Record], job: Job, output: Output) -> int:
    """Print or write the records, and report missing fields."""

    data = [record.data for record in found]
    if is_standard_output(output.path):
        for record in data:
            print(json.dumps(record, ensure_ascii=False))
    elif output.path is not None and data:
        files.write_records(output.path, [spec.name for spec in job.fields], data)
    if output.as_json:
        render.print_json({"run": shapes.run_shape(run), "records": data})
    elif output.path is not None and data and not is_standard_output(output.path):
        print(f"{len(data)} record{'s' if len(data) != 1 else ''} written to {output.path}")
    elif data and output.path is None:
        print_records(data)
    sys.stdout.flush()
    if run.state is not RunState.COMPLETED:
        exits.complain(f"{run.state}: {hints.reason_of(run)}", hints.hint_for(run), hints.history_of(run))
    return exits.code_of_state(run.state)
