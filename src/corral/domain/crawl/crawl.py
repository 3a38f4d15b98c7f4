"""What a crawl is asked to do, how far it is, and how it ends."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from corral.domain.crawl import option_values
from corral.domain.crawl.option_values import AUTO, BROWSER, Order
from corral.domain.crawl.scope import MAX_DEPTH, Scope
from corral.domain.errors import BadInput
from corral.domain.fields.page_fields import PageFields, choose_fields, parse_page_fields
from corral.domain.fields.spec import FieldSpec
from corral.domain.net.url import parse_target
from corral.domain.runs.outcome import FailureCode
from corral.domain.runs.run import RunState

MAX_STARTS = 10_000
_AUTO_WORKERS = 8
_AUTO_PAGES = 100
# How many addresses are kept of a site that has more than will ever be fetched.
_MIN_ITEMS = 250_000
_ITEMS_PER_PAGE = 20

# Rules that skip an item after it was found; the others are in domain.crawl.scope and domain.crawl.traps.
HOST_BUDGET = "host_budget"
CANONICAL = "canonical"
LISTING = "listing"  # a page of a list, read for its links
LIST_LIMIT = "list_limit"  # the same, and the list goes on beyond a default limit
EMPTY_LIST_PAGE = "empty_list_page"  # the same, and it leads on although it names no item
NO_FIELDS = "no_fields"  # none of what was asked for is on the page
NOINDEX = "noindex"
VALUE_CUT = "value_cut"  # of a page that was read: one of its values was longer than a value may be
SHELL = "application_shell"  # of a page that was read: it is empty without its scripts, which were not run
LINK_LIMIT = "link_limit"  # of a page that was read: it has more links than are followed from one page
SCROLL_LIMIT = "scroll_limit"  # of a page that was read: it shows more when it is scrolled further
META_REFRESH = "meta_refresh"  # it sends its reader to another page at once
GONE = "gone"
SITEMAP = "sitemap"  # read, and no page itself
SITEMAP_CUT = "sitemap_cut"  # the same, of one that breaks off: what it named before that is taken


class ItemState(StrEnum):
    PENDING = "pending"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"  # seen, and refused by a rule that is named
    MISSING = "missing"  # a link leads to it, and it answers 404 or 410
    DEFERRED = "deferred"  # suspected of being part of a trap: fetched when nothing else is left


class StoppedBy(StrEnum):
    """Why a crawl ended while there was more."""

    BUDGET = "budget"  # pages or bytes: what was asked for has been got
    TIME = "time"


class Counts(NamedTuple):
    """Items by state. `discovered` is their sum, so that it can never contradict them."""

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
    """The earlier crawl that a recrawl compares with, and what belongs to this one."""

    run_id: str
    scope: Scope


class Bounds(NamedTuple):
    """What a step of a crawl keeps to when it hands out items."""

    max_pages: int | None = None
    max_bytes: int | None = None
    max_per_host: int | None = None
    max_items: int | None = None  # that are known at all; what is found beyond them is counted and dropped
    by_depth: bool = True  # nothing is handed out that is deeper than what is still being read
    since: Since | None = None
    workers: int = 1  # that share it at most
    pages_each: int = 0  # that have to wait for each of them to be asked for
    concurrency: int = 1  # of all of them together


# Every number of a plan: the least and the most it may be, and whether it may be left out.
_RANGES: dict[str, tuple[float, float, bool]] = {
    "max_depth": (1, MAX_DEPTH, False),
    "max_pages": (1, 100_000_000, False),
    "max_bytes": (1, 10**15, True),
    "max_seconds": (1, 30 * 86_400, True),
    "max_per_host": (1, 100_000_000, True),
    "concurrency": (1, 256, False),
    "retry_attempts": (1, 5, False),
    "delay_s": (0, 3600, True),
    "browser_pages": (0, 1_000_000, False),
    "max_scrolls": (0, 10_000, False),
}
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
    """Every option of a crawl. `scope` carries the depth, so that one place decides what belongs to it."""

    start_urls: tuple[str, ...]
    scope: Scope
    max_pages: int = 1_000
    asked_pages: bool = True  # max_pages is what the caller asked for, and no default of ours
    max_bytes: int | None = None
    max_seconds: float | None = None
    max_per_host: int | None = None
    concurrency: int = 10
    retry_attempts: int = 3
    partial_results_ok: bool = True
    order: Order = Order.BREADTH
    keep_params: tuple[str, ...] = ()  # parameters that always count, though they look like session ids or tracking
    keywords: tuple[str, ...] = ()  # what makes an address better, where the best come first
    respect_robots: bool = True
    follow_nofollow: bool = False
    obey_noindex: bool = True  # such a page is followed through and brings no record
    use_canonical: bool = True  # a page that names another as its original counts as that one
    use_sitemaps: bool = False
    avoid_traps: bool = True  # without: for sites whose pages are all alike, and all wanted
    keep_pages: bool = False  # what came is kept as it came, beside what was read from it
    save_files: bool = False  # what is no page is kept as a file, with a record of its own
    links: bool = False  # records say where their page leads
    user_agent: str | None = None  # sent instead of the installation's own; robots.txt is asked as the latter
    delay_s: float | None = None  # between two pages of one host, at least
    strategy: str = AUTO  # how pages are got: http, browser, or auto (by browser what is empty without its scripts)
    browser_pages: int = 200  # with auto, each worker renders at most this many pages
    max_scrolls: int = 50  # of a page that shows more when it is scrolled
    since: str | None = None  # the run of an earlier crawl of the site: what has not changed is carried over
    workers: int | str = AUTO  # that share it at most, each with hosts of its own
    fields: tuple[dict[str, Any], ...] = ()
    page_fields: tuple[dict[str, Any], ...] = ()  # of pages whose address matches a pattern: see page_fields.PageFields
    only_fields: bool = False  # a record has these and its address; a page without any of them brings none
    listing: dict[str, Any] | None = (
        None  # it begins with a list, and its pages are the items: see domain.crawl.job_pages
    )

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
        """Of all pages, each once."""
        patterns = (spec for each in self._patterns for spec in each.fields)
        return list(dict.fromkeys(spec.name for spec in (*self.field_specs, *patterns)))

    @property
    def counting_params(self) -> frozenset[str]:
        return frozenset(self.keep_params)

    @property
    def shortens(self) -> bool:
        """Pages are read before all nearer ones are: what lies nearer than it seemed is put right when that shows."""
        return self.order is not Order.BREADTH or self.since is not None

    @property
    def bounds(self) -> Bounds:
        budgets = (self.max_pages, self.max_bytes, self.max_per_host)
        most = max(_MIN_ITEMS, _ITEMS_PER_PAGE * self.max_pages)
        since = None if self.since is None else Since(self.since, self.scope)
        workers, each = (_AUTO_WORKERS, _AUTO_PAGES) if isinstance(self.workers, str) else (self.workers, 0)
        if self.strategy == BROWSER:
            workers = 1  # a helper would be taken for a run of one page in the browser
        # One that may read no page at a time is no help.
        sharing = (min(workers, self.concurrency), each, self.concurrency)
        return Bounds(*budgets, most, self.order is Order.BREADTH, since, *sharing)

    def document(self) -> dict[str, Any]:
        """Plain values, as they are kept with the run; `of` makes the same plan of them."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        told["start_urls"] = list(self.start_urls)
        told["order"] = self.order.value
        told["keywords"] = list(self.keywords)
        told["keep_params"] = list(self.keep_params)
        told["fields"] = [dict(each) for each in self.fields]
        told["page_fields"] = [dict(each) for each in self.page_fields]
        if not self.page_fields:
            del told["page_fields"]  # plans are compared with those of older versions
        told["scope"] = self.scope.document()
        told["max_depth"] = told["scope"].pop("max_depth")
        return told

    @staticmethod
    def of(document: Mapping[str, Any], *, max_depth: int = MAX_DEPTH) -> "CrawlPlan":
        """A plan from plain values, or BadInput that names the field. An edge may allow less depth than there is."""
        for name in document:
            if name not in _KNOWN:
                raise BadInput(
                    f"{str(name)[:80]!r} is no option of a crawl",
                    field=str(name)[:80],
                    hint=f"known are {', '.join(sorted(_KNOWN))}",
                )
        starts = _starts(document.get("start_urls"))
        numbers = {name: _number(name, document[name], max_depth) for name in _RANGES if name in document}
        depth = numbers.pop("max_depth", 1)
        return CrawlPlan(
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
        )


_FAILURES = frozenset(FailureCode)
_KNOWN = frozenset(each.name for each in fields(CrawlPlan)) | {"max_depth"}


LEFT_OUT = (
    SHELL,
    VALUE_CUT,
    LINK_LIMIT,
    SCROLL_LIMIT,
    LIST_LIMIT,
    EMPTY_LIST_PAGE,
)  # rules of ours about pages that were fetched


def final_state(
    counts: Counts, *, ran_out: StoppedBy | str | None, partial_results_ok: bool = True, left_out: int = 0
) -> RunState:
    """How a crawl ends: derived from its items, never set beside them.

    A budget that was reached is what was asked for. What is still waiting without a reason is not complete, and
    neither is a crawl from which a rule of ours `left_out` something.
    """
    if counts.done == 0:
        return RunState.FAILED
    is_late = ran_out == StoppedBy.TIME or (ran_out is None and counts.waiting + counts.deferred > 0)
    if not (is_late or counts.failed or left_out):
        return RunState.COMPLETED
    return RunState.PARTIAL if partial_results_ok else RunState.FAILED


def why_failed(
    counts: Counts, reasons: Mapping[str, int], *, ran_out: StoppedBy | str | None
) -> tuple[FailureCode, str, str]:
    """Return code, detail and message of a failed crawl: the reason that most of its pages failed or were excluded."""
    if ran_out == StoppedBy.TIME:
        return FailureCode.TIMEOUT, "total", "the time limit was reached"
    if counts.failed == 0:
        most = max(reasons, key=lambda each: reasons[each], default="pages")
        return FailureCode.POLICY, most.rpartition(":")[2], f"no page was allowed ({most})"
    said = f"{counts.failed} of {counts.fetched} pages failed"
    if counts.done:
        said += ", and partial results are not accepted"
    named = [each for each in reasons if each.partition(":")[0] in _FAILURES]
    # What our own rules leave out has not failed, unless it is where the crawl begins.
    most = max(named, key=lambda each: (not each.startswith(FailureCode.POLICY), reasons[each]), default="")
    code, _, detail = (most or "network:pages").partition(":")
    return FailureCode(code), detail, said


def room_in(bounds: Bounds, counts: Counts, total_bytes: int) -> float:
    """How many further pages may be started; those under way count."""
    if bounds.max_bytes is not None and total_bytes >= bounds.max_bytes:
        return 0
    if bounds.max_pages is None:
        return float("inf")
    return max(0, bounds.max_pages - counts.fetched - counts.leased)


def budget_used_up(plan: CrawlPlan, counts: Counts, total_bytes: int, reasons: Mapping[str, int]) -> str | None:
    """Which budget of the plan keeps a crawl from what it knows of."""
    has_more = counts.pending + counts.deferred > 0
    if plan.max_bytes is not None and total_bytes >= plan.max_bytes and has_more:
        return "max_bytes"
    if counts.fetched >= plan.max_pages and has_more:
        return "max_pages"
    return "max_per_host" if reasons.get(HOST_BUDGET) else None


def percent(counts: Counts, plan: CrawlPlan) -> float:
    """0 to 100: of what is known and will be fetched. New links can lower it; nothing can raise it above."""
    expected = min(counts.fetched + counts.waiting + counts.deferred, plan.max_pages)
    if expected <= 0:
        return 0.0
    return min(100.0, 100.0 * counts.fetched / expected)


def eta_range(
    counts: Counts, plan: CrawlPlan, *, pages_per_s: float, new_per_page: float, elapsed_s: float = 0.0
) -> tuple[float, float] | None:
    """Seconds until the end, at least and at most; None where nothing can be told yet.

    The lower bound fetches the pending items only. The upper bound fetches the deferred ones as well, and each page
    brings `new_per_page` more links: below one the crawl ends by itself, above one only a budget ends it. The deadline
    of the plan bounds both.
    """
    if pages_per_s <= 0:
        return None
    room = max(0, plan.max_pages - counts.fetched)
    known = min(counts.waiting + counts.deferred, room)
    expected: float = known / (1 - new_per_page) if 0 <= new_per_page < 1 else (room if known else 0)
    low_s, high_s = min(counts.waiting, room) / pages_per_s, min(expected, room) / pages_per_s
    if plan.max_seconds is not None:
        left_s = max(0.0, plan.max_seconds - elapsed_s)
        low_s, high_s = min(low_s, left_s), min(high_s, left_s)
    return low_s, max(low_s, high_s)


def _starts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value or not all(isinstance(each, str) for each in value):
        raise BadInput("a crawl begins at one address at least", field="start_urls", hint='write ["https://…"]')
    if len(value) > MAX_STARTS:
        raise BadInput(
            f"there are {len(value)} start addresses, more than {MAX_STARTS}",
            field="start_urls",
            hint="start several crawls",
        )
    for place, each in enumerate(value):
        parse_target(each, field=f"start_urls[{place}]")
    return tuple(dict.fromkeys(value))


def _scope(value: object, starts: tuple[str, ...], depth: Any) -> Scope:
    if not isinstance(value, Mapping):
        raise BadInput("the scope is no object", field="scope", hint='write it as {"mode": "site"}')
    if "max_depth" in value:
        raise BadInput("the depth is an option of the crawl", field="scope.max_depth", hint="write it as `max_depth`")
    return Scope.of({**value, "max_depth": depth}, starts)


def _number(name: str, value: object, max_depth: int) -> Any:
    least, most, is_optional = _RANGES[name]
    if name == "max_depth":
        most = min(most, max_depth)
    if value is None and is_optional:
        return None
    takes_fractions = name in ("max_seconds", "delay_s")
    is_number = isinstance(value, int | float if takes_fractions else int) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:  # type: ignore[operator]
        what = "a number" if takes_fractions else "a whole number"
        raise BadInput(f"{name} is not {what} in its range", field=name, hint=f"write {least:.0f} to {most:.0f}")
    return value
