"""`corral job add`."""

from typing import Annotated, Any

import typer

from corral.cli import exits, render, shapes
from corral.cli.job_draft import draft_job, parse_fields, proxy_of
from corral.cli.options import (
    AsJson,
    Css,
    DryRun,
    Fields,
    Jsonpath,
    MaxAttempts,
    NoCheck,
    NoVerifyTls,
    OnCaptcha,
    OnMissing,
    PriorityName,
    ProxyOption,
    TimeoutS,
    Xpath,
)
from corral.cli.running import finish
from corral.cli.verbs.crawl.fetch_options import Delay, UserAgent
from corral.cli.verbs.job.page_options import (
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
from corral.domain.jobs.job import Job, OnTrouble, Strategy
from corral.settings import Settings, load_settings
from corral.wiring.roles import open_client

# Former names of options.
ALIASES = {"--items": "--item-links", "--next": "--next-page", "--site": "--whole-site"}

Frequency = Annotated[str, typer.Option(help="on_demand, hourly, daily, weekly, monthly, or a cron expression (UTC).")]


ChosenStrategy = Annotated[Strategy | None, typer.Option("--strategy", help="How to get the page (auto).")]


ChosenPriority = Annotated[
    PriorityName | None, typer.Option("--priority", help="Runs with a higher priority start first.")
]


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
    no_robots: Annotated[bool, typer.Option("--no-robots", help="Ignore robots.txt.")] = False,
    no_verify_tls: NoVerifyTls = False,
    requires_auth: Annotated[bool, typer.Option("--requires-auth", help="The page needs a login.")] = False,
    proxy: ProxyOption = None,
    on_captcha: OnCaptcha = OnTrouble.FAIL,
    on_missing: OnMissing = OnTrouble.FAIL,
    no_check: NoCheck = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Add a job. Its target is requested once and rejected if it cannot be resolved or answers 5xx.

    \b
    corral job add https://example.com/news --fields title,author --frequency hourly
    corral job add https://example.com/shop --css price=.price --item-links "h2 > a" --next-page a.next
    """

    settings = load_settings()
    said = _pick_options(strategy, priority, timeout_s=timeout, max_attempts=max_attempts, no_robots=no_robots or None)
    how: dict[str, Any] = {"frequency": frequency, "verify_tls": not no_verify_tls, "requires_auth": requires_auth}
    how |= {"on_captcha": on_captcha, "on_missing": on_missing, "proxy": proxy_of(settings, proxy, dry_run=dry_run)}
    job = draft_job(settings, url, parse_fields(fields, css, xpath, jsonpath), **how, **said)
    pages = Pages(item_links, next_page, whole_site, max_pages, max_items, allow_domain, save_files, no_trap_detection)
    pages = pages._replace(user_agent=user_agent, delay_s=delay, keep_params=keep_param)
    finish(_add(settings, with_pages(job, pages), set(said), checks=not no_check, dry_run=dry_run, as_json=as_json))


def _pick_options(strategy: Strategy | None, priority: PriorityName | None, **others: Any) -> dict[str, Any]:
    """What of a job was chosen; for the rest its defaults hold."""
    chosen = {"strategy": strategy, "priority": None if priority is None else priority.value_of, **others}
    if chosen.pop("no_robots"):
        chosen["respect_robots"] = False
    return {name: value for name, value in chosen.items() if value is not None}


async def _add(settings: Settings, job: Job, said: set[str], *, checks: bool, dry_run: bool, as_json: bool) -> int:

    if dry_run:
        if as_json:
            render.print_json({"would": "add a job", "job": shapes.draft_shape(job)})
        else:
            print(f"would add a job for {job.target_url} ({job.frequency}, {job.strategy}); nothing was written")
        return exits.DONE

    async with open_client(settings) as app:
        job = (await app.store.jobs.defaults()).over(job, said)
        stored, _ = await app.jobs.create(job, probes=checks)
    if as_json:
        render.print_json(shapes.job_shape(stored))
    else:
        print(stored.job.id)
    return exits.DONE
