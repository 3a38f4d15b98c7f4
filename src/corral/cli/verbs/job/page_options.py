"""The options of a job over many pages."""

from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import typer

from corral.domain.errors import BadInput
from corral.domain.jobs.job import CrawlMode, Job
from corral.engine.usecases.jobs import check_what

ItemLinks = Annotated[
    str | None,
    typer.Option(
        "--item-links",
        metavar="CSS",
        help="Collect from the pages that these links lead to. CSS@ATTR reads another attribute than href.",
    ),
]
NextPage = Annotated[
    str | None,
    typer.Option("--next-page", metavar="CSS", help="With --item-links: the link to the next page of the list."),
]
WholeSite = Annotated[bool, typer.Option("--whole-site", help="Collect from every page of the site that has a field.")]
MaxPages = Annotated[
    int | None, typer.Option(min=1, help="Pages of the list (10), or of the site with --whole-site (1000).")
]
MaxItems = Annotated[int | None, typer.Option(min=1, help="With --item-links: maximum number of items (500).")]
AllowDomain = Annotated[
    list[str] | None,
    typer.Option(metavar="DOMAIN", help="With --item-links or --whole-site: follow links to this domain, too."),
]
SaveFiles = Annotated[
    bool,
    typer.Option("--save-files", help="With --item-links or --whole-site: save PDFs and other files, with a record."),
]


NoTrapDetection = Annotated[
    bool, typer.Option("--no-trap-detection", help="With --whole-site: also fetch URLs that look like crawler traps.")
]


KeepParams = Annotated[
    list[str] | None,
    typer.Option("--keep-param", metavar="NAME", help="Keep this query parameter although it looks like a session id."),
]


class Pages(NamedTuple):
    items: str | None
    following: str | None
    site: bool
    max_pages: int | None
    max_items: int | None
    domains: list[str] | None
    save_files: bool = False
    no_trap_detection: bool = False
    user_agent: str | None = None
    delay_s: float | None = None
    keep_params: list[str] | None = None


def with_pages(job: Job, pages: Pages) -> Job:
    """The job, collecting from the pages that the options name; checked as the API checks it."""

    if pages.items and pages.site:
        raise BadInput("--item-links and --whole-site exclude each other", field="whole_site", hint="use one of them")
    links = {"item_links": _parse_selector(pages.items), "pagination": _parse_selector(pages.following)}
    bounds: dict[str, Any] = {"max_pages": pages.max_pages, "max_items": pages.max_items}
    bounds |= {"allowed_domains": pages.domains or None, "save_files": pages.save_files or None}
    bounds |= {"avoid_traps": False} if pages.no_trap_detection else {}
    bounds |= {"user_agent": pages.user_agent, "delay_s": pages.delay_s}
    bounds["keep_params"] = pages.keep_params or None
    config: dict[str, Any] = {name: value for name, value in {**links, **bounds}.items() if value is not None}
    mode = CrawlMode.LIST if pages.items else CrawlMode.CRAWL if pages.site else CrawlMode.SINGLE
    made = replace(job, crawl_mode=mode, list_config=config or None)
    check_what(made)
    return made


def _parse_selector(text: str | None) -> dict[str, str] | None:
    if not text:
        return None
    css, at, attr = text.rpartition("@")
    is_attribute = bool(at) and attr.replace("-", "").replace("_", "").isalnum()
    return {"css": css, "attr": attr} if is_attribute else {"css": text, "attr": "href"}
