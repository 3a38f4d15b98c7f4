"""`corral crawl`: crawl a site without a server. Ctrl-C pauses the crawl; the same command resumes it."""

import sys
from pathlib import Path

from corral.cli import exits, hints, render, shapes
from corral.cli.files import check_destination, is_archive, is_standard_output
from corral.cli.job_draft import parse_quality, trust_typed_host
from corral.cli.preflight import check_host
from corral.cli.running import Stop, first_of
from corral.cli.serving.finish import finish_serving
from corral.cli.verbs.crawl import closing_summary, running
from corral.cli.verbs.crawl.login import Login
from corral.cli.verbs.crawl.options import CrawlOptions
from corral.cli.verbs.export import plan_export, run_export
from corral.domain.crawl.crawl import HOST_BUDGET, CrawlPlan
from corral.domain.runs.run import Run, RunState
from corral.domain.verdicts.run_verdict import is_withheld
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


# Former names of options.
ALIASES = {
    "--minutes": "--max-time",
    "--fresh": "--restart",
    "--no-avoid-traps": "--no-trap-detection",
    "--keep-noindex": "--ignore-noindex",
}


def crawl(options: CrawlOptions) -> None:
    """Crawl a site now: title, text and links of every page.

    Ctrl-C pauses the crawl and keeps its state; the same command resumes it.
    Exit code: 0 completed, 3 completed with failed or deferred pages or out of time, 1 failed, 130 interrupted.

    \b
    corral crawl https://example.com --depth 2 -o pages.jsonl
    corral crawl https://example.com/docs/ --scope path --depth 10 --max-pages 5000
    corral crawl https://example.com --include '/blog/*' --json | jq .counts
    """

    login = Login(options.login, options.network, parse_quality(options.quality))
    plan = CrawlPlan.of(options.to_plan())
    settings = load_settings()
    trusted = trust_typed_host(settings, plan.start_urls[0])
    path = check_destination(options.output, as_json=options.report.as_json)
    if options.report.dry_run:
        about = {"plan": plan.document(), "output": str(path) if path else None, "keep": options.keep}
        what = f"crawl {plan.start_urls[0]}, {plan.max_depth} deep, {plan.max_pages} pages at most"
        render.print_plan(what, about, as_json=options.report.as_json)
        return
    finish_serving(_crawl(settings, options, plan, login, trusted))


async def _crawl(
    settings: Settings, options: CrawlOptions, plan: CrawlPlan, login: Login, trusted: tuple[str, ...]
) -> int:

    configure_logging("error")
    await check_host(settings, plan.start_urls[0], trusted)
    stop = Stop()
    stop.listen()
    async with open_client(settings) as app:
        access = await login.access(app, settings, plan.start_urls[0])
        # A login cannot be compared with the one of an interrupted crawl.
        restart = options.restart or login.is_set
        run = await running.start_or_resume(app, plan, trusted, access, keep=options.keep, restart=restart)
    processes = plan.workers if isinstance(plan.workers, int) else 1
    async with open_single_run(settings, run.id, processes=processes) as app:
        assert app.node is not None
        stop.on_repeat = app.node.stop_now
        has_ended = await first_of(running.watch(app, run.id, plan), stop)
        if not has_ended and await running.pause(app, run.id):
            running.print_resume_hint(run.id)
            return exits.INTERRUPTED
        return await _report(app, run.id, options.output, as_json=options.report.as_json)


async def _report(app: App, run_id: str, path: Path | None, *, as_json: bool) -> int:

    run, now = await app.store.runs.get(run_id), await app.store.crawls.get(run_id)
    has_withheld = is_withheld(run.stats)
    written = await _export(app, run, path) if path is not None and now.counts.done and not has_withheld else 0
    if written is None:
        return exits.INTERRUPTED
    reasons = await app.store.crawls.count_reasons(run_id)
    if as_json:
        counts = {**now.counts._asdict(), "discovered": now.counts.discovered}
        why = [{"state": state, "reason": reason, "count": count} for state, reason, count in reasons]
        document = {"run": shapes.run_shape(run), "counts": counts, "reasons": why}
        document |= {name: run.stats[name] for name in ("held_back", "left_out") if name in run.stats}
        if run.stats.get("changes"):
            document |= {
                "changes": run.stats["changes"],
                "gone": await app.store.crawls.missing_urls(run_id, _MAX_GONE),
            }
        render.print_json(document)
    elif not is_standard_output(path):
        _print_summary(run, now, path, written)
        if not written and now.counts.done and not await app.store.runs.is_pinned(run_id):
            _print_retention(run_id, app.settings.crawl_retention_hours)
        rows = [(state, reason, str(count)) for state, reason, count in reasons]
        if rows:
            render.print_table(("state", "reason", "pages"), rows)
        for line in closing_summary.lines_of(run, now.counts):
            print(line)
    sys.stdout.flush()
    if run.state is not RunState.COMPLETED:
        if has_withheld and path is not None:
            exits.complain(f"{path} was not written: the records are kept apart because of their verdict")
        shortfall = closing_summary.describe_shortfall(run, now.counts)
        exits.complain(f"{run.state}: {shortfall}", hints.hint_for(run), hints.history_of(run))
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


def _print_retention(run_id: str, hours: float) -> None:
    if hours:
        print(f"a running Corral deletes them {hours:g} h after the end; `corral run keep {run_id}` prevents that")


async def _export(app: App, run: Run, path: Path) -> int | None:
    """Return the number of records, or None if the export was interrupted."""

    wanted, progress = plan_export(run, path, Format.JSONL if is_standard_output(path) else None)
    return progress.written if await run_export(app.store, wanted, path, progress) else None
