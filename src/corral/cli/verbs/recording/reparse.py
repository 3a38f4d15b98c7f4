"""`corral reparse`: read the stored pages of a crawl again, and show what would change."""

import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Annotated, Any

import orjson
import typer

from corral.cli import exits, render
from corral.cli.job_draft import crawl_fields
from corral.cli.options import AsJson, FieldOptions, check_id
from corral.cli.running import Stop, finish, first_of
from corral.cli.stores import read_store
from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.job_pages import plan_of_job
from corral.domain.crawl.payload import plan_of
from corral.domain.errors import BadInput, JobNotFound
from corral.domain.jobs.job import CrawlMode
from corral.domain.records.row_key import volatile_fields
from corral.domain.runs.run import CRAWL, Run
from corral.extract.reparse import ReparsedPage, compare_page, request_again
from corral.fetch.parsing.pool import ParsePool
from corral.log import configure_logging
from corral.settings import Settings, load_settings
from corral.store.store import Store

_MAX_VALUE_CHARS = 300
_LINE_EVERY_S = 5.0
_MAX_RUNS = 50


@dataclass(frozen=True, kw_only=True)
class ReparseOptions:
    target: Annotated[str, typer.Argument(metavar="JOB", help="The id of a job, or of a crawl.")]
    wanted: FieldOptions
    diff: Annotated[bool, typer.Option("--diff", help="Show what would change. Nothing is written.")] = False
    limit: Annotated[int, typer.Option("--limit", min=0, help="How many changed pages to show at most.")] = 20
    as_json: AsJson = False


@dataclass(slots=True)
class _Result:
    pages: list[ReparsedPage] = field(default_factory=list)
    compared: int = 0
    changed: int = 0
    failed: int = 0
    fields: "Counter[str]" = field(default_factory=Counter)

    def add(self, page: ReparsedPage, limit: int) -> None:
        self.compared += 1
        self.changed += page.is_changed
        self.failed += page.failure is not None
        self.fields.update({each.path.partition("[")[0].partition(".")[0] for each in page.differences})
        if page.is_changed and len(self.pages) < limit:
            self.pages.append(page)


def reparse(options: ReparseOptions) -> None:
    """Read stored pages again, offline, and show what would change.

    The pages of the latest run of a job are read with its present fields, those of a crawl with its own; --fields,
    --css, --recipe and so on try others. Nothing is fetched or written.
    Exit code: 0 nothing would change, 1 something would, 2 there are no stored pages.

    \b
    corral reparse 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --diff
    corral reparse 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --diff --recipe new.yaml --json
    """
    if not options.diff:
        hint = "add --diff; to collect with the new fields, change the job and start a run"
        raise BadInput("stored records are never overwritten", field="diff", hint=hint)
    check_id(options.target, "job")
    finish(_reparse(load_settings(), options))


async def _reparse(settings: Settings, options: ReparseOptions) -> int:
    configure_logging("error")
    stop = Stop()
    stop.listen()
    result = _Result()
    async with read_store(settings) as store:
        run, plan = await _find_run(store, options.target)
        if new_fields := crawl_fields(options.wanted):
            # The record key names fields that are replaced, so pages are compared by their address.
            plan = CrawlPlan.of({**plan.document(), "page_fields": [], "record_key": [], **new_fields})
        total = await store.pages.count(run.id)
        if not total:
            raise _no_pages(run)
        if not await first_of(_compare(settings, store, run, plan, result, options.limit, total), stop):
            exits.complain("interrupted", "the same command starts again")
            return exits.INTERRUPTED
    _report(run, result, as_json=options.as_json)
    return exits.FAILED if result.changed else exits.DONE


async def _find_run(store: Store, target: str) -> tuple[Run, CrawlPlan]:
    """Return the run whose pages to read, and the plan to read them with."""
    try:
        job = (await store.jobs.get(target)).job
    except JobNotFound:
        run = await store.runs.get(target)
        if run.kind != CRAWL:
            raise _no_pages(run) from None
        return run, plan_of(run.payload)
    if job.crawl_mode is CrawlMode.SINGLE:
        hint = "record the page with `corral record`, and test it with `corral test`"
        raise BadInput("a job of one page stores no pages", field="job", hint=hint)
    for run in await store.runs.newest(target, None, None, _MAX_RUNS):
        if run.kind == CRAWL and await store.pages.count(run.id):
            return run, plan_of_job(job, job.max_attempts or 1)
    raise BadInput("no run of the job stored its pages", field="job", hint=_HINT)


_HINT = "add the job with --keep-pages (over HTTP: list_config.keep_pages), or crawl with --keep-pages, and run it once"


def _no_pages(run: Run) -> BadInput:
    return BadInput(f"run {run.id} stored no pages", field="job", hint=_HINT)


async def _compare(  # noqa: PLR0917 - the pages, and how to read them
    settings: Settings, store: Store, run: Run, plan: CrawlPlan, result: _Result, limit: int, total: int
) -> None:
    """Read a batch of pages at a time: memory does not grow with their number."""
    pool = ParsePool(max_value_chars=settings.max_value_chars, max_links=settings.max_page_links)
    packed = orjson.dumps(plan.document()).decode()
    ignored = volatile_fields(plan.every_spec, is_crawl=True)
    due = time.monotonic() + _LINE_EVERY_S
    after = 0
    try:
        while batch := await store.pages.next_with_records(run.id, after):
            after = batch[-1][0].id
            for page, stored in batch:
                read = await pool.read(request_again(page, plan, packed))
                result.add(compare_page(page, stored, read, plan, ignored), limit)
                if time.monotonic() >= due:
                    due = time.monotonic() + _LINE_EVERY_S
                    print(f"compared {result.compared:,} of {total:,} pages", file=sys.stderr, flush=True)
    finally:
        await pool.close()


def _report(run: Run, result: _Result, *, as_json: bool) -> None:
    counts = {
        "pages": result.compared,
        "changed": result.changed,
        "unchanged": result.compared - result.changed,
        "unreadable": result.failed,
    }
    if as_json:
        document: dict[str, Any] = {"run_id": run.id, "counts": counts, "fields": dict(result.fields.most_common())}
        render.print_json({**document, "pages": [each.document() for each in result.pages]})
        return
    for page in result.pages:
        print(f"changed  {render.printable(page.url)}")
        if page.failure is not None:
            print(f"  cannot be read: {render.printable(page.failure)}")
        for difference in page.differences:
            print(f"  {render.printable(difference.path)}")
            print(f"    before  {_show(difference.expected)}")
            print(f"    after   {_show(difference.actual)}")
    if result.changed > len(result.pages):
        print(f"… and {result.changed - len(result.pages):,} more changed pages (--limit)")
    for name, number in result.fields.most_common():
        print(f"{render.printable(name)}: {number:,} pages")
    print(
        f"{result.compared:,} pages of run {run.id}: "
        + ", ".join(f"{n:,} {k}" for k, n in counts.items() if k != "pages")
    )


def _show(value: Any) -> str:
    return render.printable(json.dumps(value, ensure_ascii=False), _MAX_VALUE_CHARS)
