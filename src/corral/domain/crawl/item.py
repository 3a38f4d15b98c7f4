"""Items: the URLs of a crawl, from discovery to result. All items of a run are its frontier."""

import hashlib
from enum import StrEnum
from typing import Any, NamedTuple

from corral.domain.cost.spent import Spent
from corral.domain.crawl.crawl import Counts, ItemState
from corral.domain.crawl.script_signs import ScriptSigns
from corral.domain.crawl.templates.traps import DEFERRING
from corral.domain.runs.outcome import WaitReason

_KEY_BYTES = 15

# Maximum rows written by one transaction.
MAX_ROWS = 1_000

# `due_at` of a deferred item that is promoted: after items that never waited (0), before retries, which have a time.
DEFERRED_DUE = 1
# `due_at` of an item that waited for its host and may be fetched again.
FREED_DUE = 2

# `reason` of a deferred item begins with this.
DEFERRAL = "waiting:"
# The item waits for the host that it redirects to, not for its own.
_WAITS_FOR_REDIRECT = f"{DEFERRAL}redirect"

# Kinds of items. Only pages have records; the others lead to pages.
PAGE = "page"
ROBOTS = "robots"  # robots.txt, which names sitemaps
_SITEMAP = "sitemap"  # followed by its level: an index names sitemaps of the next level
MAX_SITEMAP_LEVEL = 3


def deferral_reason(reason: WaitReason, *, is_own_host: bool = True) -> str:
    """Return the `reason` of an item that the host limiter deferred."""
    return f"{DEFERRAL}{reason.value}" if is_own_host else _WAITS_FOR_REDIRECT


def sitemap_kind(level: int) -> str:
    return f"{_SITEMAP}{level}"


def sitemap_level(kind: str) -> int | None:
    """Return the level of a sitemap, from 1; None for any other item."""
    return int(kind.removeprefix(_SITEMAP)) if kind.startswith(_SITEMAP) else None


def listing_key(key: str) -> str:
    """Return the key of a URL read as a list page, which is another item than the page itself."""
    return short_key(f"listing {key}")


def short_key(key: str) -> str:
    """Return a key of fixed length, so that the index stays small whatever the length of URLs."""
    return hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=_KEY_BYTES).hexdigest()


class Change(StrEnum):
    """How a page has changed since an earlier crawl."""

    NEW = "new"  # not recorded by the earlier crawl
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    GONE = "gone"  # recorded by the earlier crawl; answers 404 or 410 now


class DiscoveredLink(NamedTuple):
    """A URL found on a page, or a start URL. A link with a `reason` is not fetched."""

    url: str
    key: str  # identifies the item: two URLs with one key are the same item
    host: str
    depth: int
    reason: str | None = None
    rank: float = 0.0  # lower is fetched first
    message: str | None = None  # details of the reason
    kind: str = PAGE
    lastmod: str | None = None  # from a sitemap


def state_when_found(link: DiscoveredLink) -> ItemState:
    if link.reason is None:
        return ItemState.PENDING
    return ItemState.DEFERRED if link.reason in DEFERRING else ItemState.SKIPPED


class Item(NamedTuple):
    """An item that was leased to a worker."""

    id: int
    url: str
    key: str
    depth: int
    attempt: int
    kind: str = PAGE
    # From an earlier crawl: a digest of its content, its ETag and Last-Modified.
    earlier_version: tuple[str, str | None, str | None] | None = None
    is_back: bool = False  # the item had to wait: deeper pages may have been fetched meanwhile
    is_deferred: bool = False  # suspected trap: everything else was fetched first
    found_on: str | None = None  # URL of the first page that linked to it
    rank: float = 0.0  # as in DiscoveredLink


class PageSignals(NamedTuple):
    """Observations on a page besides its record and links. The worker uses them for decisions; they are not stored."""

    canonical: DiscoveredLink | None = None  # target of rel=canonical
    print: int | None = None  # fingerprint of its text
    words: tuple[int, ...] = ()  # a sample of its words: see domain.crawl.templates.fingerprint
    loads_more: bool = False  # scrolling probably loads more
    scripts: tuple[str, ...] = ()  # URLs of script files on its own site
    is_sent_on: bool = False  # it redirects to a page of the same depth, which other pages may have placed deeper
    sessions: tuple[tuple[str, str], ...] = ()  # links whose session id was removed: URLs and keys
    signs: ScriptSigns | None = None  # of scripts that could add content
    own_scripts: tuple[str, ...] = ()  # script files of its site that could add content


class ItemResult(NamedTuple):
    """The result of an item. Its state is pending for a retry, and leased if the next report has more of its links."""

    id: int
    key: str
    state: ItemState
    reason: str | None = None  # code:detail of a failure, or the rule
    message: str | None = None
    due_in_s: float = 0.0
    record: dict[str, Any] | str | None = None  # as JSON, or not yet encoded
    details: dict[str, Any] | None = None  # by field: see Fetched.details
    found: tuple[DiscoveredLink, ...] = ()
    http_status: int | None = None
    size: int = 0  # bytes received
    is_late: bool = False  # fetched after a wait: other pages may have been fetched at greater depth meanwhile
    took_ms: int = 0
    page: dict[str, Any] | None = (
        None  # the answer itself, if the plan archives pages: see domain/crawl/page_archive.py
    )
    version: tuple[str, str | None, str | None] | None = None  # like Item.earlier_version, for the next crawl
    change: Change | None = None
    dropped: int = 0  # links dropped from `found` because there were too many
    merged: int = 0  # new URLs that differ from known ones only in a session id
    signals: PageSignals | None = None
    depth: int | None = None  # depth at which the page was read and its links were judged
    counts: bool = True  # whether it counts as an attempt, for a retry
    more: tuple[tuple[str, dict[str, Any] | None], ...] = ()  # further records of the page, with their details
    requests: int = 0  # requests that it took
    browser_ms: int = 0  # part of `took_ms` spent in a browser
    cpu_ms: int = 0  # processor time for reading the page
    proxy_nanos: int = 0  # price of the proxies of the pool, in billionths

    def split_records(self) -> "list[ItemResult]":
        """Return one result per record of the page: the second one has the item's key with `#2`."""
        if self.record is None or not self.more:
            return [self]
        others = [
            self._replace(key=key_of_record(self.key, index), record=record, details=details, more=(), page=None)
            for index, (record, details) in enumerate(self.more, 1)
        ]
        return [self._replace(more=()), *others]


def key_of_record(key: str, index: int) -> str:
    """Return the key of one of the records of a page, by its index from 0."""
    return f"{key}#{index + 1}" if index else key


class BatchReport(NamedTuple):
    """A worker's report: results of items, the ids it still holds, and how many more items it wants."""

    ended: tuple[ItemResult, ...]
    holding: tuple[int, ...]
    want: int
    is_last: bool = False  # the answer must say how many items ended for which reason
    traps: dict[str, Any] | None = None  # knowledge about templates: see engine.worker.kinds.crawl.traps
    at_once: int = 0  # concurrency of the worker until it receives the answer
    is_done: bool = False  # the worker has no items left


class Batch(NamedTuple):
    """The answer to a report: the items leased to the worker, and the state of the crawl."""

    items: tuple[Item, ...]
    counts: Counts
    size: int = 0  # bytes fetched so far
    next_due_s: float | None = None  # seconds until the next item is due, if none is due now
    left_s: float | None = None  # remaining time of the crawl
    dropped: int = 0  # links dropped so far because there were too many
    merged: int = 0  # URLs so far that differ from known ones only in a session id
    traps: dict[str, Any] | None = None  # the answer to the reported knowledge about templates
    reasons: dict[str, int] | None = None  # in answer to the last report: number of ended items by reason
    changes: dict[str, int] | None = None  # in answer to the last report: number of pages by kind of change
    at_once: int | None = None  # new concurrency of the worker; None keeps that of the plan
    is_shared: bool = False  # other workers share the crawl
    is_over: bool = False  # for a helper: no work is left
    helpers: int = 0  # runs of helpers that this step queued
    empty_fields: dict[str, int] | None = None  # in answer to the last report: fields that most records lack
    examples: dict[str, str] | None = None  # in answer to the last report: an example URL per rule that excluded any
    held_back: list[dict[str, Any]] | None = None  # in answer to the last report: URLs that trap detection held back
    row_keys: dict[str, Any] | None = None  # in answer to the last report, with a record key: see describe_keys
    spent: Spent = Spent()  # total of the crawl so far
    latency: dict[str, Any] | None = None  # in answer to the last report: percentiles of the times of all pages


class StoredItem(NamedTuple):
    """An item as the API and the CLI show it."""

    id: int
    run_id: str
    url: str
    host: str
    depth: int
    state: ItemState
    attempt: int
    reason: str | None
    message: str | None
    http_status: int | None
    parent: int | None
    due_in_s: float
    updated_at: int
    kind: str = PAGE
    losses: int = 0  # worker processes that died while holding it
    change: str | None = None  # since an earlier crawl
    lastmod: str | None = None
