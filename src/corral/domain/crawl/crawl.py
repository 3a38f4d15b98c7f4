"""The plan of a crawl, its progress, and its final state."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from corral.domain.cost.budget import Budget
from corral.domain.cost.spent import FREE, Prices
from corral.domain.crawl import option_values
from corral.domain.crawl.option_values import AUTO, BROWSER, Order
from corral.domain.crawl.scope import MAX_DEPTH, Scope
from corral.domain.errors import BadInput
from corral.domain.fields.page_fields import PageFields, choose_fields, parse_page_fields
from corral.domain.fields.record_key import check_record_key, parse_record_key
from corral.domain.fields.spec import FieldSpec
from corral.domain.runs.outcome import FailureCode
from corral.domain.runs.run import RunState

_AUTO_WORKERS = 8
_AUTO_PAGES = 100
# Maximum URLs to store for a site that has more than the crawl can fetch.
_MIN_ITEMS = 250_000
_ITEMS_PER_PAGE = 20

# Rules that skip an item after it was found; the others are in domain.crawl.scope and domain.crawl.templates.traps.
HOST_BUDGET = "host_budget"
CANONICAL = "canonical"
LISTING = "listing"  # a list page, read for its links
LIST_LIMIT = "list_limit"  # a list page; the list continues beyond a default limit
LIST_BOUND = "list_bound"  # a list page; the list continues beyond a limit that the user set
LIST_FAILURE = "list_failure"  # a list page; the call that loads more of the list failed
EMPTY_LIST_PAGE = "empty_list_page"  # a list page without items that links to a next page
NO_FIELDS = "no_fields"  # the page has none of the requested fields
NOINDEX = "noindex"
VALUE_CUT = "value_cut"  # a fetched page: one of its values was cut at the length limit
SHELL = "application_shell"  # a fetched page: empty without JavaScript, which was not run
SCRIPTS = "script_content"  # a fetched page: its scripts add content, and they were not run
UNCHECKED = "scripts_unchecked"  # a fetched page: its scripts could add content; nothing says that they do
HASH_ROUTES = "hash_routes"  # a fetched page: has links to views that scripts show inside it
LINK_LIMIT = "link_limit"  # a fetched page: has more links than a crawl follows from one page
SCROLL_LIMIT = "scroll_limit"  # a fetched page: shows more when scrolled further
META_REFRESH = "meta_refresh"  # redirects by meta refresh
GONE = "gone"
SITEMAP = "sitemap"  # fetched, but not a page
SITEMAP_CUT = "sitemap_cut"  # a sitemap that is cut off: its URLs up to that point are used


class ItemState(StrEnum):
    PENDING = "pending"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"  # excluded by the rule named in `reason`
    MISSING = "missing"  # linked, and answers 404 or 410
    DEFERRED = "deferred"  # suspected trap: fetched when nothing else is left


class StoppedBy(StrEnum):
    """Why a crawl ended with URLs left to fetch."""

    BUDGET = "budget"  # max_pages or max_bytes was reached
    TIME = "time"
    PROXY = "proxy"  # its fixed proxy failed again and again, or the pool stayed empty


class Counts(NamedTuple):
    """Items by state. `discovered` is derived as their sum, so the two cannot disagree."""

    pending: int = 0
    leased: int = 0
    done: int = 0
    failed: int = 0
    skipped: int = 0
    missing: int = 0
    deferred: int = 0

    @property
    def discovered(self) -> int:
        return sum(self)

    @property
    def waiting(self) -> int:
        return self.pending + self.leased

    @property
    def fetched(self) -> int:
        return self.done + self.failed + self.missing


class Since(NamedTuple):
    """The earlier crawl that a recrawl compares with, and the scope of the recrawl."""

    run_id: str
    scope: Scope


class Bounds(NamedTuple):
    """Limits that a step of a crawl applies when it leases items."""

    max_pages: int | None = None
    max_bytes: int | None = None
    max_per_host: int | None = None
    max_items: int | None = None  # maximum URLs to store; further links are counted and dropped
    by_depth: bool = True  # lease no item that is deeper than an item still being fetched
    since: Since | None = None
    workers: int = 1  # maximum workers that share the crawl
    pages_each: int = 0  # minimum waiting pages per worker before another one is requested
    concurrency: int = 1  # of all workers together
    record_key: tuple[str, ...] = ()  # see Job.record_key
    budget: Budget = Budget()
    prices: Prices = FREE


_FLAGS = frozenset(
    {
        "partial_results_ok",
        "respect_robots",
        "follow_nofollow",
        "obey_noindex",
        "use_canonical",
        "use_sitemaps",
        "avoid_traps",
        "keep_pages",
        "only_fields",
        "save_files",
        "asked_pages",
        "links",
    }
)


@dataclass(frozen=True)
class CrawlPlan:
    """Every option of a crawl. The depth limit is part of `scope`, which alone decides what belongs to the crawl."""

    start_urls: tuple[str, ...]
    scope: Scope
    max_pages: int = 1_000
    asked_pages: bool = True  # the caller set max_pages; it is not the default
    max_bytes: int | None = None
    max_seconds: float | None = None
    max_per_host: int | None = None
    concurrency: int = 10
    retry_attempts: int = 3
    partial_results_ok: bool = True
    order: Order = Order.BREADTH
    keep_params: tuple[str, ...] = ()  # query parameters to keep although they look like session ids or tracking
    keywords: tuple[str, ...] = ()  # raise the score of a URL with order=best
    respect_robots: bool = True
    follow_nofollow: bool = False
    obey_noindex: bool = True  # follow the links of a noindex page, but store no record
    use_canonical: bool = True  # a page with rel=canonical counts as the page it names
    use_sitemaps: bool = False
    avoid_traps: bool = True  # switch off for sites whose pages are all alike and all wanted
    keep_pages: bool = False  # archive each response beside its record
    save_files: bool = False  # save responses that are not pages as files, each with a record
    links: bool = False  # add the outlinks of the page to its record
    user_agent: str | None = None  # replaces the installation's user agent, except for robots.txt
    delay_s: float | None = None  # minimum seconds between two requests to a host
    strategy: str = AUTO  # http, browser, or auto, which uses the browser for pages that are empty without scripts
    browser_pages: int = 200  # with auto, each worker renders at most this many pages
    max_scrolls: int = 50  # scroll steps for a page that loads more when scrolled
    since: str | None = None  # run id of an earlier crawl: unchanged pages are carried over
    workers: int | str = AUTO  # maximum number of workers, each with its own hosts
    fields: tuple[dict[str, Any], ...] = ()
    page_fields: tuple[dict[str, Any], ...] = ()  # of pages whose address matches a pattern: see page_fields.PageFields
    only_fields: bool = False  # a record has only these fields and its URL; a page without any of them has no record
    record_key: tuple[str, ...] = ()  # see Job.record_key
    listing: dict[str, Any] | None = (
        None  # the start page is a list, and its pages are the items: see domain.crawl.job_pages
    )
    budget: dict[str, float] | None = None  # see domain.cost.budget; a crawl that uses it up is partial
    prices: dict[str, float] | None = None  # prices that the budget uses to compute costs
    memory_mib: int | None = None  # memory for reading one page

    @property
    def max_depth(self) -> int:
        return self.scope.max_depth

    @cached_property
    def field_specs(self) -> tuple[FieldSpec, ...]:
        return tuple(FieldSpec.of(each) for each in self.fields)

    @cached_property
    def _patterns(self) -> tuple[PageFields, ...]:
        return tuple(PageFields.of(each) for each in self.page_fields)

    def fields_for(self, url: str) -> tuple[FieldSpec, ...]:
        """Return the fields of the page at a canonical address."""
        return choose_fields(url, self._patterns, self.field_specs) if self.page_fields else self.field_specs

    @property
    def field_names(self) -> list[str]:
        """Return the field names of all pages, without duplicates."""
        return list(dict.fromkeys(spec.name for spec in self.every_spec if not spec.is_code))

    @property
    def every_spec(self) -> tuple[FieldSpec, ...]:
        """Return the fields of all pages, including those of URL patterns."""
        return (*self.field_specs, *(spec for each in self._patterns for spec in each.fields))

    @property
    def counting_params(self) -> frozenset[str]:
        return frozenset(self.keep_params)

    @property
    def shortens(self) -> bool:
        """True if a page may be read before all nearer ones: its depth is corrected when a shorter path shows up."""
        return self.order is not Order.BREADTH or self.since is not None

    @property
    def bounds(self) -> Bounds:
        budgets = (self.max_pages, self.max_bytes, self.max_per_host)
        max_items = max(_MIN_ITEMS, _ITEMS_PER_PAGE * self.max_pages)
        since = None if self.since is None else Since(self.since, self.scope)
        workers, pages_each = (_AUTO_WORKERS, _AUTO_PAGES) if isinstance(self.workers, str) else (self.workers, 0)
        if self.strategy == BROWSER:
            workers = 1  # otherwise a helper would be scheduled as a browser run of one page
        # A helper needs room for at least one page.
        sharing = (min(workers, self.concurrency), pages_each, self.concurrency)
        spending = (Budget.of(self.budget), Prices(**(self.prices or {})))
        return Bounds(*budgets, max_items, self.order is Order.BREADTH, since, *sharing, self.record_key, *spending)

    def document(self) -> dict[str, Any]:
        """Serialize the plan for the run; `of` parses it again."""
        document = {each.name: getattr(self, each.name) for each in fields(self)}
        document["start_urls"] = list(self.start_urls)
        document["order"] = self.order.value
        document["keywords"] = list(self.keywords)
        document["keep_params"] = list(self.keep_params)
        document["fields"] = [dict(each) for each in self.fields]
        document["page_fields"] = [dict(each) for each in self.page_fields]
        if not self.page_fields:
            del document["page_fields"]  # so that plans compare equal to those of older versions
        document["record_key"] = list(self.record_key)
        for name in ("record_key", "budget", "prices", "memory_mib"):
            if not document[name]:
                del document[name]
        document["scope"] = self.scope.document()
        document["max_depth"] = document["scope"].pop("max_depth")
        return document

    @staticmethod
    def of(document: Mapping[str, Any], *, max_depth: int = MAX_DEPTH) -> "CrawlPlan":
        """Parse a plan; BadInput names the field. The API and the CLI may allow less depth than a crawl does."""
        for name in document:
            if name not in _OPTIONS:
                raise BadInput(
                    f"{str(name)[:80]!r} is not a crawl option",
                    field=str(name)[:80],
                    hint=f"known options: {', '.join(sorted(_OPTIONS))}",
                )
        starts = option_values.parse_starts(document.get("start_urls"))
        numbers = option_values.parse_numbers(document, max_depth)
        depth = numbers.pop("max_depth", 1)
        plan = CrawlPlan(
            start_urls=starts,
            scope=_scope(document.get("scope", {}), starts, depth),
            **numbers,
            **{name: option_values.parse_flag(name, document[name]) for name in _FLAGS if name in document},
            order=(order := option_values.parse_order(document.get("order", Order.BREADTH))),
            keywords=option_values.parse_keywords(document.get("keywords"), order),
            keep_params=option_values.parse_params(document.get("keep_params")),
            since=option_values.parse_since(document.get("since")),
            strategy=option_values.parse_strategy(document.get("strategy", AUTO)),
            user_agent=option_values.parse_user_agent(document.get("user_agent")),
            workers=option_values.parse_workers(document.get("workers", AUTO)),
            fields=option_values.parse_fields(document.get("fields", ())),
            page_fields=parse_page_fields(document.get("page_fields")),
            listing=option_values.parse_listing(document.get("listing")),
            record_key=parse_record_key(document.get("record_key") or None),
            budget=Budget.of(document.get("budget")).document() or None,
            prices=option_values.parse_prices(document.get("prices")),
        )
        check_record_key(plan.record_key, plan.every_spec)
        return plan


_FAILURES = frozenset(FailureCode)
_OPTIONS = frozenset(each.name for each in fields(CrawlPlan)) | {"max_depth"}


LEFT_OUT = (
    SHELL,
    SCRIPTS,
    HASH_ROUTES,
    VALUE_CUT,
    LINK_LIMIT,
    SCROLL_LIMIT,
    LIST_LIMIT,
    LIST_FAILURE,
    EMPTY_LIST_PAGE,
)  # built-in rules about fetched pages


def final_state(
    counts: Counts, *, ran_out: StoppedBy | str | None, partial_results_ok: bool = True, left_out: int = 0
) -> RunState:
    """Return the final state of a crawl. It is derived from the items and never stored separately.

    A reached budget is a requested end. A crawl is incomplete if items still wait without such a reason, or if our own
    rules `left_out` something.
    """
    if counts.done == 0:
        return RunState.FAILED
    is_late = ran_out in (StoppedBy.TIME, StoppedBy.PROXY) or (ran_out is None and counts.waiting + counts.deferred > 0)
    if not (is_late or counts.failed or left_out):
        return RunState.COMPLETED
    return RunState.PARTIAL if partial_results_ok else RunState.FAILED


def why_failed(
    counts: Counts, reasons: Mapping[str, int], *, ran_out: StoppedBy | str | None
) -> tuple[FailureCode, str, str]:
    """Return code, detail and message of a failed crawl: the most frequent reason why pages failed or were excluded."""
    if ran_out == StoppedBy.TIME:
        return FailureCode.TIMEOUT, "total", "the time limit was reached"
    if ran_out == StoppedBy.PROXY:
        return FailureCode.NETWORK, "proxy", "its proxy cannot be used"
    if counts.failed == 0:
        commonest = max(reasons, key=lambda each: reasons[each], default="pages")
        return FailureCode.POLICY, commonest.rpartition(":")[2], f"no page was allowed ({commonest})"
    message = f"{counts.failed} of {counts.fetched} pages failed"
    if counts.done:
        message += ", and partial results are not accepted"
    named = [each for each in reasons if each.partition(":")[0] in _FAILURES]
    # A page that our own policy excludes has not failed; name such a reason only if there is no other.
    commonest = max(named, key=lambda each: (not each.startswith(FailureCode.POLICY), reasons[each]), default="")
    code, _, detail = (commonest or "network:pages").partition(":")
    return FailureCode(code), detail, message


def percent(counts: Counts, plan: CrawlPlan) -> float:
    """Return the progress from 0 to 100, relative to the URLs that are known and will be fetched.

    New links can lower it.
    """
    expected = min(counts.fetched + counts.waiting + counts.deferred, plan.max_pages)
    if expected <= 0:
        return 0.0
    return min(100.0, 100.0 * counts.fetched / expected)


def eta_range(
    counts: Counts, plan: CrawlPlan, *, pages_per_s: float, new_per_page: float, elapsed_s: float = 0.0
) -> tuple[float, float] | None:
    """Return the minimum and maximum seconds until the end; None if there is no estimate yet.

    The lower bound fetches only the pending items. The upper bound also fetches the deferred ones, and assumes that
    each page adds `new_per_page` links: below one the crawl ends by itself, above one only a budget ends it. The
    deadline of the plan limits both.
    """
    if pages_per_s <= 0:
        return None
    room = max(0, plan.max_pages - counts.fetched)
    waiting = min(counts.waiting + counts.deferred, room)
    expected: float = waiting / (1 - new_per_page) if 0 <= new_per_page < 1 else (room if waiting else 0)
    low_s, high_s = min(counts.waiting, room) / pages_per_s, min(expected, room) / pages_per_s
    if plan.max_seconds is not None:
        left_s = max(0.0, plan.max_seconds - elapsed_s)
        low_s, high_s = min(low_s, left_s), min(high_s, left_s)
    return low_s, max(low_s, high_s)


def _scope(value: object, starts: tuple[str, ...], depth: Any) -> Scope:
    if not isinstance(value, Mapping):
        raise BadInput("scope must be an object", field="scope", hint='write it as {"mode": "site"}')
    if "max_depth" in value:
        raise BadInput(
            "max_depth is an option of the crawl, not of its scope",
            field="scope.max_depth",
            hint="write it as `max_depth`",
        )
    return Scope.of({**value, "max_depth": depth}, starts)
