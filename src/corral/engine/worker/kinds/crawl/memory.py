"""A worker's memory of its crawl. It is bounded; forgotten entries cost only time."""

from collections.abc import Iterable
from typing import Any

from corral.domain.crawl.crawl import CANONICAL, CrawlPlan, ItemState
from corral.domain.crawl.item import Batch, DiscoveredLink, Item, ItemResult, PageSignals
from corral.domain.crawl.scope import Refusal
from corral.domain.crawl.sharing import host_key_of, host_key_of_url
from corral.domain.crawl.templates.fingerprint import PrintMemory
from corral.engine.worker.kinds.crawl.traps import CrawlTraps

_MAX_LINKS = 100_000
_MAX_ELSEWHERE = 10_000
_MAX_TWINS = 20_000
_64_BITS = (1 << 64) - 1
_UNREPORTED = "-"


class CrawlMemory:
    def __init__(self, plan: CrawlPlan) -> None:
        self._plan = plan
        self._reported: dict[str, str | None] = {}  # keys of links, with the rule that refuses them
        self._depths: dict[str, int] = {}  # their depths, if they may still decrease
        self._elsewhere: dict[str, None] = {}  # keys of pages whose canonical URL is another page
        self.traps = CrawlTraps() if plan.avoid_traps else None
        self._is_shared = False
        self._twins: dict[int, tuple[str, str]] = {}  # by URL without trailing slash: a URL and its content digest
        self._urls = PrintMemory()  # URLs with a session id
        self._session_keys: dict[str, None] = {}  # and their keys
        self._is_first = True
        self._has_too_deep = False  # some links were refused for their depth

    def hold(self, item: Item) -> ItemResult | None:
        """Return the result of an item that must not be fetched, or None."""
        return None if self.traps is None else self.traps.hold(item)

    def take_report(self) -> dict[str, Any] | None:
        """Return the trap counts for the next report, or None."""
        return None if self.traps is None else self.traps.take_report()

    def apply_answer(self, step: Batch) -> None:
        self._is_shared = step.is_shared
        if self._is_first and step.counts.fetched:
            self._has_too_deep = True  # another worker began this crawl, and may have refused some links
        self._is_first = False
        if self.traps is not None:
            self.traps.apply_answer(step.traps, step.counts.fetched)

    def process_result(self, item: Item, ended: ItemResult) -> ItemResult:
        """Return the result of a fetched page, ready to be reported."""
        signals = ended.signals or PageSignals()
        if signals.canonical is not None:
            ended = self._skip_as_copy(ended, signals.canonical)
        ended = self._skip_twin(item, ended)
        ended = ended._replace(merged=self._count_merged(signals.sessions))
        new = self._find_new(item, ended.found)
        if self.traps is not None:
            self.traps.observe(item, signals, new, ended.found)
        # A late page may lead to known links by a shorter path.
        came_late = item.attempt > 1 or signals.is_sent_on
        came_late = came_late or (item.is_back and (self._has_too_deep or not item.is_deferred))
        found = _with(ended.found, new) if came_late else (*new, *self._find_nearer(ended.found))
        return ended._replace(found=found, is_late=came_late or self._plan.shortens, signals=None)

    def _skip_twin(self, item: Item, ended: ItemResult) -> ItemResult:
        """Skip the record of a twin: `/x` and `/x/` with the same content are one page."""
        if ended.state is not ItemState.DONE or ended.version is None or ended.key != item.key:
            return ended
        bare = hash(item.url.rstrip("/"))
        url, digest = self._twins.setdefault(bare, (item.url, ended.version[0]))
        while len(self._twins) > _MAX_TWINS:
            del self._twins[next(iter(self._twins))]
        if url == item.url or url.rstrip("/") != item.url.rstrip("/") or digest != ended.version[0]:
            return ended
        ended = ended._replace(state=ItemState.SKIPPED, reason=CANONICAL, message=f"it has the content of {url}")
        return ended._replace(record=None, version=None, change=None)

    def _count_merged(self, sessions: Iterable[tuple[str, str]]) -> int:
        """Count new URLs that differ from a known one only in their session id."""
        merged = 0
        for url, key in sessions:
            if self._urls.has(hash(url) & _64_BITS):
                continue
            merged += key in self._session_keys
            self._session_keys[key] = None
            while len(self._session_keys) > _MAX_LINKS:
                del self._session_keys[next(iter(self._session_keys))]
        return merged

    def _skip_as_copy(self, ended: ItemResult, original: DiscoveredLink) -> ItemResult:
        """Record a page under its canonical URL: that URL is queued, and this page adds only its links.

        If two pages name each other, the page that was read first gives way.
        """
        if ended.state is not ItemState.DONE or original.key in self._elsewhere:
            return ended
        self._elsewhere[ended.key] = None
        while len(self._elsewhere) > _MAX_ELSEWHERE:
            del self._elsewhere[next(iter(self._elsewhere))]
        found = (original, *ended.found)
        message = f"its canonical URL is {original.url}"
        ended = ended._replace(state=ItemState.SKIPPED, reason=CANONICAL, message=message, found=found)
        return ended._replace(record=None, version=None, change=None)

    def _find_new(self, item: Item, found: tuple[DiscoveredLink, ...]) -> tuple[DiscoveredLink, ...]:
        """Drop links that were reported before: every page of a site repeats its menu."""
        new: list[DiscoveredLink] = []
        # The worker that owns another host checks the links to that host before it fetches them.
        own = host_key_of_url(item.url) if self._is_shared else None
        for link in found:
            each = link if self.traps is None else self.traps.pardon(item, link)
            if self._reported.get(each.key, _UNREPORTED) in (None, each.reason):
                continue
            # Reported, whether deferred or not; the rules are not applied again.
            self._reported[each.key] = each.reason
            self._has_too_deep = self._has_too_deep or each.reason == Refusal.TOO_DEEP
            is_checked = self.traps is not None and own in (None, host_key_of(each.host))
            new.append(self.traps.let_in(item, each) if self.traps is not None and is_checked else each)
        while len(self._reported) > _MAX_LINKS:
            del self._reported[next(iter(self._reported))]
        return tuple(new)

    def _find_nearer(self, found: tuple[DiscoveredLink, ...]) -> list[DiscoveredLink]:
        """Return links that were reported before with a greater depth."""
        if not self._plan.shortens:
            return []
        nearer = [link for link in found if self._depths.get(link.key, link.depth) > link.depth]
        for link in found:
            self._depths[link.key] = min(link.depth, self._depths.pop(link.key, link.depth))
        while len(self._depths) > _MAX_LINKS:
            del self._depths[next(iter(self._depths))]
        return nearer


def _with(found: tuple[DiscoveredLink, ...], changed: tuple[DiscoveredLink, ...]) -> tuple[DiscoveredLink, ...]:
    """Return all links, with the decisions about some of them."""
    decided = {link.key: link for link in changed}
    return tuple(decided.get(link.key, link) for link in found)
