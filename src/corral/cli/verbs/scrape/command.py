"""`corral scrape`: one page, now, without a server."""

import contextlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from corral.cli import exits, files, hints, render, shapes
from corral.cli.job_draft import draft_job, parse_fields, parse_key, proxy_of
from corral.cli.options import FieldOptions, MaxAttempts, NetworkOptions, ReportOptions, TimeoutS
from corral.cli.preflight import check_host
from corral.cli.progress import history
from corral.cli.progress import run as progress
from corral.cli.running import Stop, finish, first_of
from corral.cli.verbs.run.records import print_records, records_of
from corral.domain.errors import JobNotFound, WrongState
from corral.domain.fields.own_code import without_parser
from corral.domain.jobs.job import Job, Strategy
from corral.domain.net.http_cache import CacheMode
from corral.domain.runs.record import Record
from corral.domain.runs.run import Run, RunAction, RunState
from corral.log import configure_logging
from corral.settings import Settings, load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_client, open_single_run

_ALL = 1_000_000


@dataclass(frozen=True, kw_only=True)
class ScrapeOptions:
    url: Annotated[str, typer.Argument(metavar="URL", help="The page to collect from.")]
    wanted: FieldOptions
    strategy: Annotated[Strategy, typer.Option("--strategy", help="How to get the page.")] = Strategy.AUTO
    timeout: TimeoutS = None
    max_attempts: MaxAttempts = None
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write as .json, .jsonl, .csv, .parquet or .xlsx; - prints lines of JSON.",
        ),
    ] = None
    network: NetworkOptions
    cache: Annotated[
        CacheMode | None, typer.Option("--cache", help="Reuse responses stored on disk. Default: APP_HTTP_CACHE.")
    ] = None
    report: ReportOptions


def scrape(options: ScrapeOptions) -> None:
    """Collect fields from one page, now.

    URL may be a private address, because you typed it; only that host is reachable.
    Exit code: 0 all fields found, 3 some of them, 1 failed, 130 interrupted (the run is cancelled).

    \b
    corral scrape https://example.com --fields title,description
    corral scrape https://example.com/shop --css price=.price -o prices.csv
    corral scrape https://example.com/feed.xml --xpath newest=//item/title
    corral scrape https://example.com --fields title --json | jq -r '.records[0].title'
    """

    cache, network = options.cache, options.network
    settings = load_settings() if cache is None else load_settings(http_cache=cache)
    job = draft_job(
        settings,
        options.url,
        parse_fields(options.wanted, options.url),
        strategy=options.strategy,
        max_attempts=options.max_attempts,
        timeout_s=options.timeout,
        trusts_host=True,
        record_key=parse_key(options.wanted),
        verify_tls=not network.no_verify_tls,
        proxy=proxy_of(settings, network.proxy, dry_run=options.report.dry_run),
    )
    files.check_destination(options.output, as_json=options.report.as_json, keeps_pages=False)
    if options.report.dry_run:
        _print_dry_run(job, options)
    else:
        finish(_scrape(settings, job, options))


def _print_dry_run(job: Job, options: ScrapeOptions) -> None:

    if options.report.as_json:
        path = None if options.output is None else str(options.output)
        render.print_json({"would": "scrape", "job": shapes.draft_shape(job), "output": path})
        return
    names = ", ".join(spec.name for spec in job.fields)
    where = f" into {options.output}" if options.output else ""
    print(f"would collect {names} from {job.target_url} ({job.strategy}){where}; nothing was fetched or written")


async def _scrape(settings: Settings, job: Job, options: ScrapeOptions) -> int:

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
        stop.on_repeat = app.node.stop_now
        ended = await _execute(app, run, stop)
        run = await app.store.runs.get(run.id)
        records = await _records(app, run.id)
    return _report(run, records, job, options) if ended else exits.INTERRUPTED


async def _start(settings: Settings, job: Job, stop: Stop) -> Run | None:
    """Create the run without executing it: the executing node needs its id first."""

    created: list[Run] = []

    async def create(app: App) -> None:
        stored, _ = await app.jobs.create(job, probes=False)
        run, _ = await app.submitter.start(stored.job.id)
        created.append(run)

    async with open_client(settings) as app:
        with progress.waiting(f"probing {job.target_url}"):
            await first_of(create(app), stop)
        if created:
            return created[0]
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
            return True  # it ended at the same moment
    exits.complain(f"interrupted; run {run.id} is cancelled", f"start it again with `corral run retry {run.id}`")
    return False


# Values of EventKind, whose members are strings.
_WAITS_FOR_PERSON = frozenset({"waiting", "quarantined"})


async def _watch(app: App, run_id: str, progress_line: progress.RunProgress) -> None:

    async def wait(seconds: float) -> None:
        progress_line.tick()
        await app.pulse.wait(seconds)

    async for event in history.follow(app.store, run_id, wait):
        progress_line.on_event(event)
        if event.kind in _WAITS_FOR_PERSON:
            return  # it cannot be resumed while this command runs


async def _records(app: App, run_id: str) -> list[Record]:

    return await records_of(app.store, run_id, _ALL)


def _report(run: Run, records: list[Record], job: Job, options: ScrapeOptions) -> int:
    """Print or write the records, and report missing fields."""

    data, output = [record.data for record in records], options.output
    if files.is_standard_output(output):
        for record in data:
            print(json.dumps(record, ensure_ascii=False))
    elif output is not None and data:
        files.write_records(output, [spec.name for spec in without_parser(job.fields)], data)
    if options.report.as_json:
        render.print_json({"run": shapes.run_shape(run), "records": data})
    elif output is not None and data and not files.is_standard_output(output):
        print(f"{len(data)} record{'s' if len(data) != 1 else ''} written to {output}")
    elif data and output is None:
        print_records(data)
    sys.stdout.flush()
    if run.state is not RunState.COMPLETED:
        exits.complain(f"{run.state}: {hints.reason_of(run)}", hints.hint_for(run), hints.history_of(run))
    return exits.code_of_state(run.state)
