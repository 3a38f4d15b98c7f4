"""Items: the URLs of a crawl, from discovery to result. All items of a run are its frontier."""

import hashlib
from enum import StrEnum
from typing import Any, NamedTuple

from corral.domain.cost.spent import Spent
from corral.domain.crawl.crawl import Counts, ItemState
from corral.domain.crawl.traps import DEFERRING
from corral.domain.runs.outcome import WaitReason

_KEY_BYTES = 15

# Maximum rows written by one transaction.
MAX_ROWS = 1_000

# `due_at` of a deferred item that is promoted: after items that never waited (0), before retries, which have a time.
DEFERRED_DUE = 1
# `due_at` of an item that waited for its host, which accepts requests again.
FREED_DUE = 2

# `reason` of a deferred item begins with this.
DEFERRAL = "waiting:"
# The item waits for another host than its own, to which it redirects.
_WAITS_FOR_REDIRECT = f"{DEFERRAL}redirect"

# Kinds of items. Only pages have records; the others lead to pages.
PAGE = "page"
ROBOTS = "robots"  # which names sitemaps
_SITEMAP = "sitemap"  # with its level: an index names sitemaps of the next
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
    """What happened to a page since an earlier crawl."""

    NEW = "new"  # not recorded then
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    GONE = "gone"  # recorded then, and answers 404 or 410 now


class DiscoveredLink(NamedTuple):
    """A URL found on a page, or a start URL. A link with a `reason` is not fetched."""

    url: str
    key: str  # what makes two URLs the same item
    host: str
    depth: int
    reason: str | None = None
    rank: float = 0.0  # lower is fetched first
    message: str | None = None  # more of the reason
    kind: str = PAGE
    lastmod: str | None = None  # what a sitemap says


def state_when_found(found: DiscoveredLink) -> ItemState:
    if found.reason is None:
        return ItemState.PENDING
    return ItemState.DEFERRED if found.reason in DEFERRING else ItemState.SKIPPED


class Item(NamedTuple):
    """An item that was leased to a worker."""

    id: int
    url: str
    key: str
    depth: int
    attempt: int
    kind: str = PAGE
    # Of an earlier crawl: a digest of its content, its ETag and Last-Modified.
    known: tuple[str, str | None, str | None] | None = None
    is_back: bool = False  # it waited: deeper pages may have been fetched meanwhile
    is_deferred: bool = False  # suspected trap: everything else was fetched first
    found_on: str | None = None  # URL of the first page that linked to it
    rank: float = 0.0  # as in DiscoveredLink


class PageSignals(NamedTuple):
    """What a page showed beside its record and links. Decisions in the worker use it; it is not stored."""

    canonical: DiscoveredLink | None = None  # target of rel=canonical
    print: int | None = None  # fingerprint of its text
    words: tuple[int, ...] = ()  # a sample of them: see domain.crawl.fingerprint
    loads_more: bool = False  # scrolling probably loads more
    scripts: tuple[str, ...] = ()  # URLs of script files on its own site
    is_sent_on: bool = False  # it leads to a page that lies as near as itself, which others may have put farther
    sessions: tuple[tuple[str, str], ...] = ()  # links whose session id was removed: URLs and keys


class ItemResult(NamedTuple):
    """The result of an item. Its state is pending for a retry, and leased where more links follow in a next report."""

    id: int
    key: str
    state: ItemState
    reason: str | None = None  # code:detail of a failure, or the rule
    message: str | None = None
    due_in_s: float = 0.0
    record: dict[str, Any] | str | None = None  # packed as JSON, or still to be
    details: dict[str, Any] | None = None  # by field: see Fetched.details
    found: tuple[DiscoveredLink, ...] = ()
    http_status: int | None = None
    size: int = 0  # bytes received
    is_late: bool = False  # read after its first turn: other pages may have been read at greater depth meanwhile
    took_ms: int = 0
    page: dict[str, Any] | None = (
        None  # the answer itself, where the plan keeps pages: see domain/crawl/page_archive.py
    )
    version: tuple[str, str | None, str | None] | None = None  # as Item.known, for the next crawl
    change: Change | None = None
    dropped: int = 0  # links dropped from `found` because there were too many
    merged: int = 0  # new URLs that differ from known ones only in a session id
    seen: PageSignals | None = None
    depth: int | None = None  # the depth at which it was read, which its links were judged by
    counts: bool = True  # as an attempt, where it is to be tried again
    more: tuple[tuple[str, dict[str, Any] | None], ...] = ()  # further records of the page, with their details
    requests: int = 0  # that it took
    browser_ms: int = 0  # of `took_ms`, in a browser
    cpu_ms: int = 0  # processor time of reading it

    def split_records(self) -> "list[ItemResult]":
        """One result per record of the page: the second has the key of the item and `#2`."""
        if self.record is None or not self.more:
            return [self]
        others = [
            self._replace(key=f"{self.key}#{number}", record=record, details=details, more=(), page=None)
            for number, (record, details) in enumerate(self.more, 2)
        ]
        return [self._replace(more=()), *others]


class BatchReport(NamedTuple):
    """A worker's report: the results of items, the ids it still holds, and how many more it wants."""

    ended: tuple[ItemResult, ...]
    holding: tuple[int, ...]
    want: int
    is_last: bool = False  # the answer says how many items ended for which reason
    traps: dict[str, Any] | None = None  # what was learned of templates: see engine.worker.kinds.crawl.traps
    at_once: int = 0  # concurrency of the worker until it receives the answer
    is_done: bool = False  # the worker has no items left


class Batch(NamedTuple):
    """The answer to a report: the items leased to the worker, and the state of the crawl."""

    items: tuple[Item, ...]
    counts: Counts
    size: int = 0  # bytes fetched so far
    next_due_s: float | None = None  # until the next item is due, where none is due now
    left_s: float | None = None  # of the time the crawl may take
    dropped: int = 0  # links dropped so far because there were too many
    merged: int = 0  # URLs so far that differ from known ones only in a session id
    traps: dict[str, Any] | None = None  # the answer to what was told of templates
    reasons: dict[str, int] | None = None  # to the last report: how many items ended so, by reason
    changes: dict[str, int] | None = None  # and how many changed, since an earlier crawl
    at_once: int | None = None  # new concurrency of the worker; None keeps that of the plan
    is_shared: bool = False  # with other workers
    is_over: bool = False  # to a helper: no work is left
    helpers: int = 0  # runs of helpers that this step queued
    empty_fields: dict[str, int] | None = None  # to the last report: fields that most records lack
    examples: dict[str, str] | None = None  # to the last report: an address for each rule that left something out
    held_back: list[dict[str, Any]] | None = None  # to the last report: addresses that trap detection held back
    row_keys: dict[str, Any] | None = None  # to the last report, with a record key: see describe_keys
    spent: Spent = Spent()  # by the crawl so far


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
