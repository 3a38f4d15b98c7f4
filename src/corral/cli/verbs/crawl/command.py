"""`corral crawl`: crawl a site without a server. Ctrl-C pauses the crawl; the same command resumes it."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli import exits, hints, render, shapes
from corral.cli.files import is_archive
from corral.cli.job_draft import trust_typed_host
from corral.cli.options import AsJson, DryRun, NoVerifyTls, ProxyOption
from corral.cli.preflight import check_host
from corral.cli.running import Stop, first_of
from corral.cli.serving.finish import finish_serving
from corral.cli.verbs.crawl import closing_summary, running
from corral.cli.verbs.crawl.fetch_options import (
    BrowserPages,
    CookieFile,
    CrawlStrategy,
    Delay,
    Headers,
    Login,
    MaxScrolls,
    OutLinks,
    SaveFiles,
    SessionId,
    SingleCookies,
    StrategyOption,
    UserAgent,
    check_destination,
    is_standard_output,
)
from corral.cli.verbs.export import plan_export, run_export
from corral.domain.crawl.crawl import HOST_BUDGET, CrawlPlan
from corral.domain.crawl.option_values import AUTO
from corral.domain.runs.run import Run, RunState
from corral.export.formats import Format
from corral.log import configure_logging
from corral.settings import Settings, load_settings
from corral.store.queries.crawl.crawls import CrawlNow
from corral.wiring.app import App
from corral.wiring.roles import open_client, open_single_run

_MAX_GONE = 10_000

_BUDGETS = {
    "max_pages": "its budget of pages",
    "max_bytes": "its budget of bytes",
    "max_per_host": "the budget of a host",
}


Start = Annotated[str, typer.Argument(metavar="URL", help="Where to begin.")]
Depth = Annotated[int, typer.Option("--depth", min=1, max=100, help="How many links away from URL.")]
MaxPages = Annotated[int | None, typer.Option("--max-pages", min=1, help="How many pages at most (1000).")]
Concurrency = Annotated[int, typer.Option("--concurrency", min=1, max=256, help="Pages at once.")]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, max=64, help="Worker processes on this machine, each with its own hosts."),
]
MaxTime = Annotated[
    float | None, typer.Option("--max-time", metavar="MINUTES", min=0.02, help="Stop after this many minutes.")
]
ScopeName = Annotated[str, typer.Option("--scope", help="site (its subdomains, too), host, path (below URL), any.")]
Include = Annotated[
    list[str] | None, typer.Option("--include", metavar="PATTERN", help="Follow only these, such as '/blog/*'.")
]
Exclude = Annotated[list[str] | None, typer.Option("--exclude", metavar="PATTERN", help="Never follow these.")]
Retries = Annotated[int, typer.Option("--retries", min=1, max=5, help="Tries for each page.")]
NoRobots = Annotated[bool, typer.Option("--no-robots", help="Ignore robots.txt.")]
MaxMegabytes = Annotated[float | None, typer.Option("--max-mb", min=0.01, help="How many megabytes at most.")]
MaxPerHost = Annotated[int | None, typer.Option("--max-per-host", min=1, help="How many pages of one host at most.")]
Domains = Annotated[list[str] | None, typer.Option("--allow-domain", metavar="DOMAIN", help="Also crawl this domain.")]
FollowNofollow = Annotated[bool, typer.Option("--follow-nofollow", help="Follow links marked nofollow, too.")]
IgnoreNoindex = Annotated[bool, typer.Option("--ignore-noindex", help="Collect pages marked noindex, too.")]
NoCanonical = Annotated[
    bool, typer.Option("--no-canonical", help="Ignore rel=canonical; record every page under its own URL.")
]
OrderName = Annotated[
    str | None, typer.Option("--order", help="breadth: the nearest to URL first; best: the highest score first.")
]
Keywords = Annotated[
    list[str] | None,
    typer.Option("--keyword", metavar="WORD", help="Prefer links that contain it; implies --order best."),
]
Sitemaps = Annotated[bool, typer.Option("--sitemaps", help="Also crawl the pages listed in the site's sitemaps.")]
EarlierRun = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="RUN", help="Report changes since this crawl, or the `last` one; carry unchanged pages over."
    ),
]
NoTrapDetection = Annotated[
    bool, typer.Option("--no-trap-detection", help="Also fetch what looks like a trap: calendars, endless lists.")
]
KeepParams = Annotated[
    list[str] | None,
    typer.Option("--keep-param", metavar="NAME", help="Keep this query parameter although it looks like a session id."),
]
AllOrNothing = Annotated[
    bool, typer.Option("--all-or-nothing", help="Fail the crawl if any page fails or the time limit is hit.")
]
OutputFile = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write records: .jsonl .json .csv .parquet .xlsx; .warc.gz archives pages.",
    ),
]
Keep = Annotated[bool, typer.Option("--keep", help="Do not delete it after APP_CRAWL_RETENTION_HOURS.")]
KeepPages = Annotated[bool, typer.Option("--keep-pages", help="Archive responses for `corral export` as WARC.")]
Restart = Annotated[bool, typer.Option("--restart", help="Start a new crawl instead of continuing an interrupted one.")]

# Former names of options.
ALIASES = {
    "--minutes": "--max-time",
    "--fresh": "--restart",
    "--no-avoid-traps": "--no-trap-detection",
    "--keep-noindex": "--ignore-noindex",
}


_HELP = """Crawl a site now: title, text and links of every page.

Ctrl-C pauses the crawl and keeps its state; the same command resumes it.
Exit code: 0 completed, 3 completed with failed or deferred pages or out of time, 1 failed, 130 interrupted.

\b
corral crawl https://example.com --depth 2 -o pages.jsonl
corral crawl https://example.com/docs/ --scope path --depth 10 --max-pages 5000
corral crawl https://example.com --include '/blog/*' --json | jq .counts
"""


def crawl(
    url: Start,
    *,
    depth: Depth = 1,
    max_pages: MaxPages = None,
    max_mb: MaxMegabytes = None,
    max_per_host: MaxPerHost = None,
    max_time: MaxTime = None,
    concurrency: Concurrency = 10,
    workers: Workers = None,
    retries: Retries = 3,
    scope: ScopeName = "site",
    include: Include = None,
    exclude: Exclude = None,
    allow_domain: Domains = None,
    no_robots: NoRobots = False,
    keep_pages: KeepPages = False,
    save_files: SaveFiles = False,
    links: OutLinks = False,
    strategy: StrategyOption = CrawlStrategy.AUTO,
    max_browser_pages: BrowserPages = 200,
    max_scrolls: MaxScrolls = 50,
    header: Headers = None,
    cookie: SingleCookies = None,
    cookies: CookieFile = None,
    session: SessionId = None,
    user_agent: UserAgent = None,
    delay: Delay = None,
    proxy: ProxyOption = None,
    no_verify_tls: NoVerifyTls = False,
    follow_nofollow: FollowNofollow = False,
    ignore_noindex: IgnoreNoindex = False,
    no_canonical: NoCanonical = False,
    no_trap_detection: NoTrapDetection = False,
    keep_param: KeepParams = None,
    sitemaps: Sitemaps = False,
    order: OrderName = None,
    keyword: Keywords = None,
    since: EarlierRun = None,
    all_or_nothing: AllOrNothing = False,
    output: OutputFile = None,
    keep: Keep = False,
    restart: Restart = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    given = locals()
    _begin(_to_plan_options(given), Login(given), output, keep=keep, restart=restart, dry_run=dry_run, as_json=as_json)


crawl.__doc__ = _HELP


def _to_plan_options(given: dict[str, Any]) -> dict[str, Any]:
    """Convert command-line options to the options of a plan."""

    scope = {"mode": given["scope"], "allowed_domains": given["allow_domain"] or []}
    patterns = {name: given[name] or [] for name in ("include", "exclude")}
    same = (
        "max_per_host",
        "concurrency",
        "follow_nofollow",
        "since",
        "save_files",
        "links",
        "max_scrolls",
        "user_agent",
    )
    return {
        **{name: given[name] for name in same},
        **({"asked_pages": False} if given["max_pages"] is None else {"max_pages": given["max_pages"]}),
        "start_urls": [given["url"]],
        "strategy": given["strategy"].value,
        "browser_pages": given["max_browser_pages"],
        "delay_s": given["delay"],
        "scope": {**scope, **patterns},
        "max_depth": given["depth"],
        "max_bytes": None if given["max_mb"] is None else round(given["max_mb"] * 1_000_000),
        "max_seconds": None if given["max_time"] is None else given["max_time"] * 60,
        "retry_attempts": given["retries"],
        "respect_robots": not given["no_robots"],
        "obey_noindex": not given["ignore_noindex"],
        "use_canonical": not given["no_canonical"],
        "keep_params": given["keep_param"] or [],
        "avoid_traps": not given["no_trap_detection"],
        "use_sitemaps": given["sitemaps"],
        "partial_results_ok": not given["all_or_nothing"],
        "order": given["order"] or ("best" if given["keyword"] else "breadth"),
        "keywords": given["keyword"] or [],
        "keep_pages": given["keep_pages"] or is_archive(given["output"]),
        "workers": given["workers"] or AUTO,
    }


def _begin(
    asked: dict[str, Any], login: Login, output: Path | None, *, keep: bool, restart: bool, dry_run: bool, as_json: bool
) -> None:

    plan = CrawlPlan.of(asked)
    settings = load_settings()
    url = plan.start_urls[0]
    trusted = trust_typed_host(settings, url)
    path = check_destination(output, as_json=as_json)
    if dry_run:
        about = {"plan": plan.document(), "output": str(path) if path else None, "keep": keep}
        what = f"crawl {url}, {plan.max_depth} deep, {plan.max_pages} pages at most"
        render.print_plan(what, about, as_json=as_json)
        return
    finish_serving(_crawl(settings, plan, login, trusted, path, keep=keep, restart=restart, as_json=as_json))


async def _crawl(
    settings: Settings,
    plan: CrawlPlan,
    login: Login,
    trusted: tuple[str, ...],
    path: Path | None,
    *,
    keep: bool,
    restart: bool,
    as_json: bool,
) -> int:

    configure_logging("error")
    await check_host(settings, plan.start_urls[0], trusted)
    stop = Stop()
    stop.listen()
    async with open_client(settings) as app:
        access = await login.access(app, settings, plan.start_urls[0])
        # A login cannot be compared with the one of an interrupted crawl.
        run = await running.start_or_resume(app, plan, trusted, access, keep=keep, restart=restart or login.is_given)
    processes = plan.workers if isinstance(plan.workers, int) else 1
    async with open_single_run(settings, run.id, processes=processes) as app:
        assert app.node is not None
        stop.on_haste = app.node.stop_now
        has_ended = await first_of(running.watch(app, run.id, plan), stop)
        if not has_ended and await running.pause(app, run.id):
            running.say_how_to_go_on(run.id)
            return exits.INTERRUPTED
        return await _report(app, run.id, path, as_json=as_json)


async def _report(app: App, run_id: str, path: Path | None, *, as_json: bool) -> int:

    run, now = await app.store.runs.get(run_id), await app.store.crawls.get(run_id)
    written = await _export(app, run, path) if path is not None and now.counts.done else 0
    if written is None:
        return exits.INTERRUPTED
    reasons = await app.store.crawls.count_reasons(run_id)
    if as_json:
        counts = {**now.counts._asdict(), "discovered": now.counts.discovered}
        why = [{"state": state, "reason": reason, "count": count} for state, reason, count in reasons]
        told = {"run": shapes.run_shape(run), "counts": counts, "reasons": why}
        told |= {name: run.stats[name] for name in ("held_back", "left_out") if name in run.stats}
        if run.stats.get("changes"):
            told |= {"changes": run.stats["changes"], "gone": await app.store.crawls.missing_urls(run_id, _MAX_GONE)}
        render.print_json(told)
    elif not is_standard_output(path):
        _print_summary(run, now, path, written)
        if not written and now.counts.done and not await app.store.runs.is_kept(run_id):
            _say_how_long(run_id, app.settings.crawl_retention_hours)
        rows = [(state, reason, str(count)) for state, reason, count in reasons]
        if rows:
            render.print_table(("state", "reason", "pages"), rows)
        for line in closing_summary.lines_of(run, now.counts):
            print(line)
    sys.stdout.flush()
    if run.state is not RunState.COMPLETED:
        short = closing_summary.short_of(run, now.counts)
        exits.complain(f"{run.state}: {short}", hints.hint_for(run), hints.history_of(run))
    return exits.code_of_state(run.state)


def _print_summary(run: Run, now: CrawlNow, path: Path | None, written: int) -> None:

    counts = now.counts
    # Pages that redirect to the same target are one record.
    things = "pages" if is_archive(path) else "records"
    print(f"{written} {things} written to {path}" if written else f"{counts.done} pages; see `corral records {run.id}`")
    if changes := run.stats.get("changes"):
        print(", ".join(f"{count} {change}" for change, count in changes.items()))
    if stopped := run.stats.get("budget") or run.stats.get("stopped_by"):
        left = counts.pending + counts.deferred or run.stats.get("reasons", {}).get(HOST_BUDGET, 0)
        print(f"stopped by {_BUDGETS.get(stopped, f'its {stopped}')}: {left} more are known")


def _say_how_long(run_id: str, hours: float) -> None:
    if hours:
        print(f"a running Corral deletes them {hours:g} h after the end; `corral run keep {run_id}` prevents that")


async def _export(app: App, run: Run, path: Path) -> int | None:
    """Return the number of records, or None if the export was interrupted."""

    wanted, progress = plan_export(run, path, Format.JSONL if is_standard_output(path) else None)
    return progress.written if await run_export(app.store, wanted, path, progress) else None
