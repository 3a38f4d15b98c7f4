"""The pages of a job: its target alone, the items of a list that begins there, or a whole site.

The last two are crawls (domain.crawl.crawl) that extract the requested fields of each page, and record its URL.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corral.domain.cost.spent import FREE, Prices
from corral.domain.crawl.budgets import budget_options
from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.option_values import AUTO
from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.job import CrawlMode, Job, Strategy
from corral.domain.lists.pagination import PAGINATION, Pagination, PagingMode, check_pagination, link_spec

DEFAULT_LIST_PAGES = 10
DEFAULT_ITEMS = 500
MAX_LIST_PAGES = 10_000
MAX_ITEMS = 1_000_000
ITEM_LINKS = "item_links"
_SITE_PAGES = 1_000
_SITE_DEPTH = 5
_MAX_RETRIES = 5
_OF_SITE = frozenset(
    {
        *("max_pages", "allowed_domains", "save_files", "avoid_traps", "keep_params", "user_agent", "delay_s"),
        *("page_fields", "keep_pages"),
    }
)


@dataclass(frozen=True, slots=True)
class Listing:
    """The `listing` of a plan: how a list page leads to its items, and to the next list page."""

    item_links: FieldSpec
    pagination: Pagination | None  # None: only the first page, scrolled if it has scripts
    max_pages: int
    max_items: int

    @staticmethod
    def of(config: Mapping[str, Any]) -> "Listing":
        following = config.get(PAGINATION)
        return Listing(
            link_spec(config[ITEM_LINKS], ITEM_LINKS, every=True),
            None if following is None else Pagination.of(following),
            config.get("max_pages", DEFAULT_LIST_PAGES),
            config.get("max_items", DEFAULT_ITEMS),
        )

    @property
    def fields(self) -> tuple[FieldSpec, ...]:
        """Return the fields to read from a list page. A button is pressed in the browser, not read."""
        paging = self.pagination
        is_read = paging is not None and paging.finds_links
        return self.selectors if is_read else (self.item_links,)

    @property
    def selectors(self) -> tuple[FieldSpec, ...]:
        """Return every selector that the user wrote."""
        following = self.pagination.selector if self.pagination is not None else None
        return (self.item_links,) if following is None else (self.item_links, following)

    @property
    def mode(self) -> PagingMode | None:
        return None if self.pagination is None else self.pagination.mode


def check_pages(job: Job, *, is_draft: bool = False) -> None:
    """Raise BadInput for options that exclude each other. A draft may be incomplete."""
    config = job.list_config
    if job.crawl_mode is CrawlMode.SINGLE:
        if config is not None and not is_draft:
            raise BadInput("list_config needs crawl_mode list or crawl", field="list_config", hint="name one")
        return
    if job.crawl_mode is CrawlMode.LIST:
        if not is_draft and (config or {}).get("page_fields"):
            hint = "remove it; items of a list have the fields of the job"
            raise BadInput("page_fields needs crawl_mode crawl", field="list_config.page_fields", hint=hint)
        if not is_draft and not (config or {}).get(ITEM_LINKS):
            field = "list_config" if config is None else f"list_config.{ITEM_LINKS}"
            raise BadInput(
                "crawl_mode list needs item_links, a selector of the links to the items", field=field, hint='"h2 > a"'
            )
        if (config or {}).get(PAGINATION) is not None:
            check_pagination((config or {})[PAGINATION], strategy=job.strategy.value, field=f"list_config.{PAGINATION}")
    elif not is_draft:
        strange = sorted(name for name, value in (config or {}).items() if name not in _OF_SITE and value is not None)
        if strange:
            hint = f"remove it; with crawl_mode crawl, list_config takes {', '.join(sorted(_OF_SITE))}"
            raise BadInput(f"{strange[0]} needs crawl_mode list", field=f"list_config.{strange[0]}", hint=hint)


def plan_of_job(job: Job, max_attempts: int, prices: Prices = FREE) -> CrawlPlan:
    """Return the crawl plan of a run of the job."""
    config: dict[str, Any] = {name: value for name, value in (job.list_config or {}).items() if value is not None}
    document: dict[str, Any] = {
        "start_urls": [job.target_url],
        "scope": {"allowed_domains": config.get("allowed_domains", [])},
        "respect_robots": job.respect_robots,
        "retry_attempts": min(max_attempts, _MAX_RETRIES),
        "fields": [spec.document() for spec in job.fields],
        "only_fields": True,
        "record_key": list(job.record_key),
        "keep_params": config.get("keep_params", []),
        "save_files": config.get("save_files", False),
        "keep_pages": config.get("keep_pages", False),
        "user_agent": config.get("user_agent"),
        "delay_s": config.get("delay_s"),
        # With auto, recipes take precedence over fetching the page.
        "strategy": AUTO if job.strategy is Strategy.API_REPLAY else job.strategy.value,
    }
    if job.requires_auth:
        document["workers"] = 1  # the run itself holds the login
    document |= budget_options(job.budget, prices)
    if job.timeout_s is not None:
        document["max_seconds"] = max(1.0, min(job.timeout_s, job.budget.seconds or job.timeout_s))
    if job.crawl_mode is CrawlMode.LIST:
        # The user selected these links: trap detection, canonical links and noindex do not apply to them.
        chosen = {"avoid_traps": False, "use_canonical": False, "obey_noindex": False, "follow_nofollow": True}
        listing = {name: config[name] for name in (ITEM_LINKS, PAGINATION, "max_pages", "max_items") if name in config}
        document |= {**chosen, "listing": listing, "max_pages": config.get("max_items", DEFAULT_ITEMS), "max_depth": 1}
    else:
        document |= {"max_pages": config.get("max_pages", _SITE_PAGES), "max_depth": _SITE_DEPTH}
        document["asked_pages"] = "max_pages" in config
        document["avoid_traps"] = config.get("avoid_traps", True)
        document["page_fields"] = config.get("page_fields", [])
    return CrawlPlan.of(document)
