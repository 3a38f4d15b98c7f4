"""Items: the URLs of a crawl, from discovery to result. All items of a run are its frontier."""

import hashlib
from enum import StrEnum
from typing import Any, NamedTuple

from corral.domain.crawl.crawl import Counts, ItemState
from corral.domain.crawl.traps import DEFERRING
from corral.domain.runs.outcome import WaitReason

_KEY_BYTES = 15

# Rows that one transaction writes at most.
MAX_ROWS = 1_000

# `due_at` of an item that was deferred and is wanted now: after those that never waited (0), before those that are
# tried again at a time.
DEFERRED_DUE = 1
# `due_at` of an item that waited for its host, which may be asked again.
FREED_DUE = 2

# `reason` of a deferred item begins with this.
DEFERRAL = "waiting:"
# The item waits for another host than its own, to which it redirects.
_WAITS_FOR_REDIRECT = f"{DEFERRAL}redirect"

# Kinds of items. Only pages bring records; the others lead to some.
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
    """From 1; None for what is no sitemap."""
    return int(kind.removeprefix(_SITEMAP)) if kind.startswith(_SITEMAP) else None


_LISTING = "listing"  # with its number, and how many items those before it have named


def listing_kind(number: int, named: int = 0) -> str:
    return f"{_LISTING}{number}:{named}"


def listing_place(kind: str) -> tuple[int, int] | None:
    """The number of a list page, from 1, and how many items were named before it; None for what is none."""
    if not kind.startswith(_LISTING):
        return None
    number, _, named = kind.removeprefix(_LISTING).partition(":")
    return int(number), int(named)


def listing_key(key: str) -> str:
    """Return the key of a URL read as a list page, which is another item than the page itself."""
    return short_key(f"{_LISTING} {key}")


def short_key(key: str) -> str:
    """Return a key of fixed length, so that the index stays small whatever the length of URLs."""
    return hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=_KEY_BYTES).hexdigest()


class Change(StrEnum):
    """What happened to a page since an earlier crawl."""

    NEW = "new"  # it was not recorded then
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    GONE = "gone"  # it was, and answers 404 or 410 now


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
    is_back: bool = False  # it had to wait: pages at greater depth may have been read meanwhile
    is_deferred: bool = False  # it was suspected of being part of a trap, and everything else was fetched first
    found_on: str | None = None  # the address of the page that led to it first
    rank: float = 0.0  # as in DiscoveredLink


class PageSignals(NamedTuple):
    """What a page showed beside its record and links. Decisions in the worker use it; it is not stored."""

    canonical: DiscoveredLink | None = None  # the page of which this one says that it is the same
    print: int | None = None  # what its text is about, as a number
    words: tuple[int, ...] = ()  # a sample of them: see domain.crawl.fingerprint
    loads_more: bool = False  # its scripts probably bring more when it is scrolled
    scripts: tuple[str, ...] = ()  # addresses of the script files of its own site
    is_sent_on: bool = False  # it leads to a page that lies as near as itself, which others may have put farther
    sessions: tuple[tuple[str, str], ...] = ()  # links with a session id that does not count: their addresses and keys


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
    size: int = 0  # bytes that arrived
    is_late: bool = False  # read after its first turn: other pages may have been read at greater depth meanwhile
    took_ms: int = 0
    page: dict[str, Any] | None = (
        None  # the answer itself, where the plan keeps pages: see domain/crawl/page_archive.py
    )
    version: tuple[str, str | None, str | None] | None = None  # as Item.known, for the next crawl
    change: Change | None = None
    dropped: int = 0  # links of the page that are not among `found`: there were too many
    merged: int = 0  # addresses seen on it first that differ from others only in a session id
    seen: PageSignals | None = None
    depth: int | None = None  # the depth at which it was read, which its links were judged by
    counts: bool = True  # as an attempt, where it is to be tried again


class BatchReport(NamedTuple):
    """A worker's report: the results of items, the ids it still holds, and how many more it wants."""

    ended: tuple[ItemResult, ...]
    holding: tuple[int, ...]
    want: int
    is_last: bool = False  # the answer says how many items ended for which reason
    traps: dict[str, Any] | None = None  # what was learned of templates: see engine.worker.kinds.crawl.traps
    at_once: int = 0  # pages that the worker may read at once until it hears the answer
    is_done: bool = False  # the worker has nothing left to do, as far as it knows


class Batch(NamedTuple):
    """The answer to a report: the items leased to the worker, and the state of the crawl."""

    items: tuple[Item, ...]
    counts: Counts
    size: int = 0  # bytes fetched so far
    next_due_s: float | None = None  # until the next item is due, where none is due now
    left_s: float | None = None  # of the time the crawl may take
    dropped: int = 0  # links so far that there were too many of
    merged: int = 0  # addresses so far that differ from others only in a session id
    traps: dict[str, Any] | None = None  # the answer to what was told of templates
    reasons: dict[str, int] | None = None  # to the last report: how many items ended so, by reason
    changes: dict[str, int] | None = None  # and how many changed, since an earlier crawl
    at_once: int | None = None  # how many pages may be read at once from now on; None is what the plan says
    is_shared: bool = False  # with other workers
    is_over: bool = False  # to a helper: there is nothing left to help with
    helpers: int = 0  # runs of helpers that this step queued
    empty_fields: dict[str, int] | None = None  # to the last report: fields that most records lack
    examples: dict[str, str] | None = None  # to the last report: an address for each rule that left something out
    held_back: list[dict[str, Any]] | None = None  # to the last report: addresses that trap detection held back


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
    losses: int = 0  # workers that died while they held it
    change: str | None = None  # since an earlier crawl
    lastmod: str | None = None
