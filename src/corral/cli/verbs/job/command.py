"""`corral job`: what is collected."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from corral.cli.aliases import command_with_aliases
from corral.cli.options import (
    AsJson,
    Css,
    DryRun,
    Fields,
    Jsonpath,
    Limit,
    MaxAttempts,
    NoCheck,
    NoVerifyTls,
    OnCaptcha,
    OnMissing,
    PriorityName,
    ProxyOption,
    TimeoutS,
    Xpath,
    checked_id,
    drafted_job,
    parse_fields,
    proxy_of,
)
from corral.cli.verbs.crawl.fetch_options import Delay, UserAgent
from corral.cli.verbs.job.page_options import (
    ALIASES,
    AllowDomain,
    ItemLinks,
    KeepParams,
    MaxItems,
    MaxPages,
    NextPage,
    NoTrapDetection,
    Pages,
    SaveFiles,
    WholeSite,
    with_pages,
)
from corral.domain.jobs.job import OnTrouble, Strategy

if TYPE_CHECKING:
    from corral.domain.jobs.job import Job
    from corral.settings import Settings

app = typer.Typer(no_args_is_help=True, help="What is collected: add, list, show and remove jobs.")

Frequency = Annotated[str, typer.Option(help="on_demand, hourly, daily, weekly, monthly, or a cron expression (UTC).")]
ChosenStrategy = Annotated[Strategy | None, typer.Option("--strategy", help="How to get the page (auto).")]
ChosenPriority = Annotated[PriorityName | None, typer.Option("--priority", help="Higher ones are served first.")]
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The id of a job.")]


@app.command("add", cls=command_with_aliases(ALIASES))
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page to collect from.")],
    *,
    fields: Fields = "",
    css: Css = None,
    xpath: Xpath = None,
    jsonpath: Jsonpath = None,
    item_links: ItemLinks = None,
    next_page: NextPage = None,
    whole_site: WholeSite = False,
    max_pages: MaxPages = None,
    max_items: MaxItems = None,
    allow_domain: AllowDomain = None,
    save_files: SaveFiles = False,
    no_trap_detection: NoTrapDetection = False,
    user_agent: UserAgent = None,
    delay: Delay = None,
    keep_param: KeepParams = None,
    frequency: Frequency = "on_demand",
    strategy: ChosenStrategy = None,
    priority: ChosenPriority = None,
    max_attempts: MaxAttempts = None,
    timeout: TimeoutS = None,
    no_robots: Annotated[bool, typer.Option("--no-robots", help="Do not ask robots.txt.")] = False,
    no_verify_tls: NoVerifyTls = False,
    requires_auth: Annotated[bool, typer.Option("--requires-auth", help="The page needs a login.")] = False,
    proxy: ProxyOption = None,
    on_captcha: OnCaptcha = OnTrouble.FAIL,
    on_missing: OnMissing = OnTrouble.FAIL,
    no_check: NoCheck = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add a job. Its target is asked once: one without an address or with a 5xx answer is refused.

    \b
    corral job add https://example.com/news --fields title,author --frequency hourly
    corral job add https://example.com/shop --css price=.price --item-links "h2 > a" --next-page a.next
    """
    from corral.cli.running import finish
    from corral.settings import load_settings

    settings = load_settings()
    said = _said(strategy, priority, timeout_s=timeout, max_attempts=max_attempts, no_robots=no_robots or None)
    how: dict[str, Any] = {"frequency": frequency, "verify_tls": not no_verify_tls, "requires_auth": requires_auth}
    how |= {"on_captcha": on_captcha, "on_missing": on_missing, "proxy": proxy_of(settings, proxy, dry_run=dry_run)}
    job = drafted_job(settings, url, parse_fields(fields, css, xpath, jsonpath), **how, **said)
    pages = Pages(item_links, next_page, whole_site, max_pages, max_items, allow_domain, save_files, no_trap_detection)
    pages = pages._replace(user_agent=user_agent, delay_s=delay, keep_params=keep_param)
    finish(_add(settings, with_pages(job, pages), set(said), checks=not no_check, dry_run=dry_run, as_json=as_json))


def _said(strategy: Strategy | None, priority: PriorityName | None, **others: Any) -> dict[str, Any]:
    """What of a job was chosen; for the rest its defaults hold."""
    chosen = {"strategy": strategy, "priority": None if priority is None else priority.value_of, **others}
    if chosen.pop("no_robots"):
        chosen["respect_robots"] = False
    return {name: value for name, value in chosen.items() if value is not None}


async def _add(settings: "Settings", job: "Job", said: set[str], *, checks: bool, dry_run: bool, as_json: bool) -> int:
    from corral.cli import exits, render, shapes

    if dry_run:
        if as_json:
            render.print_json({"would": "add a job", "job": shapes.planned_shape(job)})
        else:
            print(f"would add a job for {job.target_url} ({job.frequency}, {job.strategy}); nothing was written")
        return exits.DONE
    from corral.wiring.app import opened

    async with opened(settings, works=False) as app:
        job = (await app.store.jobs.defaults()).over(job, said)
        stored, _ = await app.jobs.create(job, probes=checks)
    if as_json:
        render.print_json(shapes.job_shape(stored))
    else:
        print(stored.job.id)
    return exits.DONE


@app.command("list")
def list_(limit: Limit = 50, as_json: AsJson = False) -> None:
    """List jobs, newest first.

    \b
    corral job list
    corral job list --json | jq -r '.[].id'
    """
    from corral.cli.running import finish
    from corral.settings import load_settings

    finish(_list(load_settings(), limit, as_json=as_json))


async def _list(settings: "Settings", limit: int, *, as_json: bool) -> int:
    from corral.cli import exits, render, shapes
    from corral.cli.running import read_store

    async with read_store(settings) as store:
        found = await store.jobs.newest(None, limit)
    if as_json:
        render.print_json([shapes.job_shape(stored) for stored in found])
        return exits.DONE
    rows = [(stored.job.id, shapes.job_status(stored), stored.job.frequency, stored.job.target_url) for stored in found]
    nothing = "no jobs yet; add one with `corral job add URL --fields title`"
    render.print_table(("id", "status", "frequency", "target…"), rows, nothing=nothing)
    return exits.DONE


@app.command("show")
def show(job_id: JobArgument, as_json: AsJson = False) -> None:
    """Show one job with its latest runs.

    \b
    corral job show 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    from corral.cli.running import finish
    from corral.settings import load_settings

    finish(_show(load_settings(), checked_id(job_id, "job"), as_json=as_json))


async def _show(settings: "Settings", job_id: str, *, as_json: bool) -> int:
    from corral.cli import exits, render, shapes
    from corral.cli.running import read_store
    from corral.cli.verbs.run.command import RUN_COLUMNS, run_row

    async with read_store(settings) as store:
        stored = await store.jobs.get(job_id)
        latest = await store.runs.newest(job_id, None, None, 5)
    shape = shapes.job_shape(stored)
    if as_json:
        render.print_json(shape)
        return exits.DONE
    shape["fields"] = ", ".join(spec.name for spec in stored.job.fields)
    render.print_properties(shape)
    if latest:
        print()
        render.print_table(RUN_COLUMNS, [run_row(run) for run in latest])
    return exits.DONE


@app.command("rm")
def rm(job_id: JobArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Remove a job. Its finished runs and their records stay; one with a run under way is refused.

    \b
    corral job rm 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    """
    from corral.cli.running import finish
    from corral.settings import load_settings

    finish(_rm(load_settings(), checked_id(job_id, "job"), dry_run=dry_run, as_json=as_json))


async def _rm(settings: "Settings", job_id: str, *, dry_run: bool, as_json: bool) -> int:
    from corral.cli import exits, render
    from corral.cli.running import opened_store, read_store

    if dry_run:
        async with read_store(settings) as store:
            stored = await store.jobs.get(job_id)
        render.print_plan(f"remove the job for {stored.job.target_url}", {"job_id": job_id}, as_json=as_json)
        return exits.DONE
    async with opened_store(settings) as store:
        await store.jobs.delete(job_id)
    render.print_removed("job", job_id, as_json=as_json)
    return exits.DONE
