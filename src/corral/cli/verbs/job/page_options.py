"""The options of a job over many pages."""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from corral.cli.options import Delay, KeepParams, UserAgent
from corral.domain.errors import BadInput
from corral.domain.jobs.job import CrawlMode, Job
from corral.domain.lists.pagination import MAX_STEP, PagingMode
from corral.engine.usecases.jobs import check_job


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    item_links: Annotated[
        str | None,
        typer.Option(
            "--item-links",
            metavar="CSS",
            help="Collect from the pages that these links lead to. CSS@ATTR reads another attribute than href.",
        ),
    ] = None
    next_page: Annotated[
        str | None,
        typer.Option("--next-page", metavar="CSS", help="With --item-links: the link to the next page of the list."),
    ] = None
    pagination: Annotated[
        PagingMode | None,
        typer.Option(
            "--pagination",
            help="With --item-links: how the list goes on (auto). With --next-page, CSS selects the next link, "
            "the page links (numbers) or the button (load_more).",
        ),
    ] = None
    page_param: Annotated[
        str | None,
        typer.Option(
            "--page-param", metavar="NAME[+STEP]", help="With --pagination numbers: the query parameter to count."
        ),
    ] = None
    whole_site: Annotated[
        bool, typer.Option("--whole-site", help="Collect from every page of the site that has a field.")
    ] = False
    max_pages: Annotated[
        int | None, typer.Option(min=1, help="Pages of the list (10), or of the site with --whole-site (1000).")
    ] = None
    max_items: Annotated[int | None, typer.Option(min=1, help="With --item-links: maximum number of items (500).")] = (
        None
    )
    allow_domain: Annotated[
        list[str] | None,
        typer.Option(metavar="DOMAIN", help="With --item-links or --whole-site: follow links to this domain, too."),
    ] = None
    keep_pages: Annotated[
        bool,
        typer.Option("--keep-pages", help="With --item-links or --whole-site: store the pages for `corral reparse`."),
    ] = False
    save_files: Annotated[
        bool,
        typer.Option(
            "--save-files", help="With --item-links or --whole-site: save PDFs and other files, with a record."
        ),
    ] = False
    no_trap_detection: Annotated[
        bool,
        typer.Option("--no-trap-detection", help="With --whole-site: also fetch URLs that look like crawler traps."),
    ] = False
    user_agent: UserAgent = None
    delay: Delay = None
    keep_param: KeepParams = None


def with_pages(job: Job, options: PageOptions, page_fields: list[dict[str, Any]]) -> Job:
    """Return the job with the pages that the options name, checked as the API checks it."""

    if options.item_links and options.whole_site:
        raise BadInput("--item-links and --whole-site exclude each other", field="whole_site", hint="use one of them")
    links = {"item_links": _parse_selector(options.item_links), "pagination": _pagination_of(options)}
    bounds: dict[str, Any] = {"max_pages": options.max_pages, "max_items": options.max_items}
    bounds |= {"allowed_domains": options.allow_domain or None, "save_files": options.save_files or None}
    bounds |= {"keep_pages": options.keep_pages or None}
    bounds |= {"avoid_traps": False} if options.no_trap_detection else {}
    bounds |= {"user_agent": options.user_agent, "delay_s": options.delay}
    bounds |= {"keep_params": options.keep_param or None, "page_fields": page_fields or None}
    config: dict[str, Any] = {name: value for name, value in {**links, **bounds}.items() if value is not None}
    mode = CrawlMode.LIST if options.item_links else CrawlMode.CRAWL if options.whole_site else CrawlMode.SINGLE
    configured_job = replace(job, crawl_mode=mode, list_config=config or None)
    check_job(configured_job)
    return configured_job


def _pagination_of(options: PageOptions) -> dict[str, Any] | None:
    """Return the pagination of the options; the default of a list is `auto`."""
    config: dict[str, Any] = dict(_parse_selector(options.next_page) or {})
    if options.pagination is not None:
        config["mode"] = options.pagination.value
    if options.page_param is not None:
        name, plus, step = options.page_param.partition("+")
        if not name or (plus and not (step.isascii() and step.isdigit() and 1 <= int(step[:9]) <= MAX_STEP)):
            raise BadInput("--page-param is not NAME or NAME+STEP", field="page_param", hint="page, or offset+20")
        config |= {"param": name} | ({"step": int(step)} if plus else {})
    if not config and options.item_links:
        config["mode"] = PagingMode.AUTO.value
    return config or None


def _parse_selector(text: str | None) -> dict[str, str] | None:
    if not text:
        return None
    css, at, attr = text.rpartition("@")
    is_attribute = bool(at) and attr.replace("-", "").replace("_", "").isalnum()
    return {"css": css, "attr": attr} if is_attribute else {"css": text, "attr": "href"}
