"""Which pages a job collects from: its target alone, the items of a list that begins there, or a whole site.

The last two are crawls (domain.crawl.crawl) that bring the asked fields of each page, and its address.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.option_values import AUTO
from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.job import CrawlMode, Job, Strategy

DEFAULT_LIST_PAGES = 10
DEFAULT_ITEMS = 500
MAX_LIST_PAGES = 10_000
MAX_ITEMS = 1_000_000
ITEM_LINKS, PAGINATION = "item_links", "pagination"
_SITE_PAGES = 1_000
_SITE_DEPTH = 5
_MAX_RETRIES = 5
_OF_SITE = frozenset(
    {"max_pages", "allowed_domains", "save_files", "avoid_traps", "keep_params", "user_agent", "delay_s"}
)


@dataclass(frozen=True, slots=True)
class Listing:
    """The `listing` of a plan: how a list page leads to its items, and to the next list page."""

    item_links: FieldSpec
    pagination: FieldSpec | None
    max_pages: int
    max_items: int

    @staticmethod
    def of(config: Mapping[str, Any]) -> "Listing":
        following = config.get(PAGINATION)
        return Listing(
            link_spec(config[ITEM_LINKS], ITEM_LINKS, every=True),
            None if following is None else link_spec(following, PAGINATION, every=False),
            config.get("max_pages", DEFAULT_LIST_PAGES),
            config.get("max_items", DEFAULT_ITEMS),
        )

    @property
    def fields(self) -> tuple[FieldSpec, ...]:
        return (self.item_links,) if self.pagination is None else (self.item_links, self.pagination)


def link_spec(given: Mapping[str, Any], name: str, *, every: bool) -> FieldSpec:
    """`every`: whether all matches are taken where nothing is said about it."""
    is_all = every if given.get("all") is None else bool(given["all"])
    return FieldSpec(name, given.get("css"), given.get("attr") or "href", is_all, xpath=given.get("xpath"))


def check_pages(job: Job, *, is_draft: bool = False) -> None:
    """BadInput where what is asked for does not go together. A draft may lack what a later change brings."""
    config = job.list_config
    if job.crawl_mode is CrawlMode.SINGLE:
        if config is not None and not is_draft:
            raise BadInput("list_config goes with crawl_mode list or crawl", field="list_config", hint="name one")
        return
    if job.crawl_mode is CrawlMode.LIST:
        if not is_draft and not (config or {}).get(ITEM_LINKS):
            field = "list_config" if config is None else f"list_config.{ITEM_LINKS}"
            raise BadInput("a list needs to know which links lead to its items", field=field, hint='"h2 > a"')
    elif not is_draft:
        strange = sorted(name for name, value in (config or {}).items() if name not in _OF_SITE and value is not None)
        if strange:
            hint = f"leave it out; of a site there are {', '.join(sorted(_OF_SITE))}"
            raise BadInput(f"{strange[0]} goes with crawl_mode list", field=f"list_config.{strange[0]}", hint=hint)


def plan_of_job(job: Job, max_attempts: int) -> CrawlPlan:
    """What a run of the job crawls."""
    config: dict[str, Any] = {name: value for name, value in (job.list_config or {}).items() if value is not None}
    document: dict[str, Any] = {
        "start_urls": [job.target_url],
        "scope": {"allowed_domains": config.get("allowed_domains", [])},
        "respect_robots": job.respect_robots,
        "retry_attempts": min(max_attempts, _MAX_RETRIES),
        "fields": [spec.document() for spec in job.fields],
        "only_fields": True,
        "keep_params": config.get("keep_params", []),
        "save_files": config.get("save_files", False),
        "user_agent": config.get("user_agent"),
        "delay_s": config.get("delay_s"),
        # Recipes come first with auto, where there are any.
        "strategy": AUTO if job.strategy is Strategy.API_REPLAY else job.strategy.value,
    }
    if job.requires_auth:
        document["workers"] = 1  # the login is with the run itself
    if job.timeout_s is not None:
        document["max_seconds"] = max(1.0, job.timeout_s)
    if job.crawl_mode is CrawlMode.LIST:
        # The user selected these links: trap detection, canonical links and noindex do not apply to them.
        chosen = {"avoid_traps": False, "use_canonical": False, "obey_noindex": False, "follow_nofollow": True}
        listing = {name: config[name] for name in (ITEM_LINKS, PAGINATION, "max_pages", "max_items") if name in config}
        document |= {**chosen, "listing": listing, "max_pages": config.get("max_items", DEFAULT_ITEMS), "max_depth": 1}
    else:
        document |= {"max_pages": config.get("max_pages", _SITE_PAGES), "max_depth": _SITE_DEPTH}
        document["asked_pages"] = "max_pages" in config
        document["avoid_traps"] = config.get("avoid_traps", True)
    return CrawlPlan.of(document)
