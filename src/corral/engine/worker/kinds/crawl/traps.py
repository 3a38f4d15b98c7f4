"""Trap detection in a worker: count links and pages by template.

The counts go to the store with the results of the pages, a few times a second; a new worker learns lost counts again.
"""

import time
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import PAGE, DiscoveredLink, Item, ItemResult, PageSignals
from corral.domain.crawl.templates.budget import TemplateBudget
from corral.domain.crawl.templates.fingerprint import PrintMemory
from corral.domain.crawl.templates.traps import DEFERRING, PROVEN, is_dated, is_named_by_list, list_beside, template_of

_REPORT_EVERY_S = 0.5
# For this many pages after a restart or a handover, known links may seem new.
_UNSURE_PAGES = 200
_64_BITS = (1 << 64) - 1
_MAX_TEMPLATES = 5_000
_LONG_URL = 500  # characters; templates of longer URLs are not kept


class _Templates(dict[str, str]):
    """The templates of URLs: each is needed for a link, before the page is fetched and after it was read."""

    def __missing__(self, url: str) -> str:
        template = template_of(url)
        if len(url) <= _LONG_URL:
            if len(self) >= _MAX_TEMPLATES:
                self.clear()
            self[url] = template
        return template


class CrawlTraps:
    def __init__(self) -> None:
        self._budget = TemplateBudget()
        self._prints = PrintMemory()
        self._links = PrintMemory(bytes_=2 * 1024 * 1024, capacity=500_000)  # keys of all links that were ever new
        self._templates = _Templates()
        self._unsure = 0
        self._endless: list[str] = []  # names proven to be traps since the last step
        self._begins = True
        self._reported_at = 0.0
        self._has_read_deferred = False  # since the last report; the order of deferred items depends on it

    def pardon(self, item: Item, link: DiscoveredLink) -> DiscoveredLink:
        """Return a link without the rule about its shape if the page is a list that names the link."""
        if link.reason is None:
            return link
        is_listed = link.kind == PAGE and is_named_by_list(link.reason, item.url, datetime.now(UTC).date())
        return link._replace(reason=None) if is_listed else link

    def let_in(self, item: Item, link: DiscoveredLink) -> DiscoveredLink:
        """Return a new link on the page of `item`, unchanged or with the rule that defers or refuses it."""
        if link.kind != PAGE:
            return link
        if link.reason is not None:
            # The template is part of the crawl's summary.
            return link._replace(message=self._templates[link.url]) if link.reason in PROVEN else link
        template, page = self._templates[link.url], self._templates[item.url]
        trap = self._budget.admit(template, page)
        return link if trap is None else link._replace(reason=trap, message=self._budget.behind(template, trap, page))

    def hold(self, item: Item) -> ItemResult | None:
        """Return the result of an item that the rules defer or refuse by now, or None."""
        if item.depth == 0 or item.attempt > 1 or item.kind != PAGE:
            return None
        template = self._templates[item.url]
        page = None if item.found_on is None else self._templates[item.found_on]
        trap = self._budget.hold(template, is_deferred=item.is_deferred, found_on=page)
        if trap is None:
            return None
        to = ItemState.DEFERRED if trap in DEFERRING else ItemState.SKIPPED
        return ItemResult(item.id, item.key, to, trap, self._budget.behind(template, trap, page))

    def observe(
        self, item: Item, signals: PageSignals, new_links: tuple[DiscoveredLink, ...], links: tuple[DiscoveredLink, ...]
    ) -> None:
        """Count a fetched page with its new links, and with all its links."""
        unknown = [link for link in new_links if not self._links.has(hash(link.key) & _64_BITS)]
        if signals.print is None or item.kind != PAGE:
            return
        self._unsure = max(0, self._unsure - 1)
        self._has_read_deferred = self._has_read_deferred or item.is_deferred
        self._endless += self._budget.observe(
            self._templates[item.url],
            signals.print,
            words=signals.words,
            led_to=[self._templates[link.url] for link in unknown if link.reason is None or link.reason in DEFERRING],
            is_again=self._prints.has(signals.print),
            is_dated=is_dated(item.url),
            found_on=None if self._unsure or item.found_on is None else self._templates[item.found_on],
            closing=_list_closing(item, new_links, links),
            leads_back=any(link.url == item.found_on for link in links),
        )

    def take_report(self) -> dict[str, Any] | None:
        """Return the counts for the next report, or None."""
        is_due = time.monotonic() - self._reported_at >= _REPORT_EVERY_S
        if not (self._endless or self._begins or self._has_read_deferred or is_due):
            return None
        self._reported_at = time.monotonic()
        self._has_read_deferred = False
        endless, self._endless = self._endless, []
        changes = self._budget.changes()
        growth = self._budget.growth(changes)
        return {"begins": self._begins, "tallies": changes, "growth": growth, "endless": endless}

    def apply_answer(self, answer: dict[str, Any] | None, fetched: int) -> None:
        self._budget.fetched = fetched
        if answer is None:
            return
        if self._begins:
            self._begins = False
            self._budget = TemplateBudget.of(answer)
            self._budget.fetched = fetched
            self._unsure = _UNSURE_PAGES if answer.get("templates") else 0
        if (handed_over := answer.get("come")) is not None:
            self._budget.take_over(handed_over)
            self._unsure = _UNSURE_PAGES if handed_over.get("templates") else self._unsure
        if handed_away := answer.get("gone"):
            self._budget.forget(set(handed_away))


def _list_closing(item: Item, new_links: tuple[DiscoveredLink, ...], links: tuple[DiscoveredLink, ...]) -> list[int]:
    """Return numbers for the known neighbours that a page links to, except itself and the page that led to it."""
    excluded = {item.url, item.found_on, *(link.url for link in new_links)}
    return [crc32(url.encode()) for url in list_beside(item.url, (link.url for link in links)) if url not in excluded]
