"""Classify the links of crawled pages: where they lead, and which rule of the crawl refuses them.

Pages of a site repeat their links and words. `ReadMemory` holds what was computed for earlier pages; the process that
reads pages owns it and passes it to each reading.
"""

from collections.abc import Sequence
from datetime import date
from types import CodeType
from typing import NamedTuple

import orjson

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.crawl.item import short_key
from corral.domain.crawl.scope import is_named_as_file
from corral.domain.crawl.templates.fingerprint import WordCounters
from corral.domain.crawl.templates.traps import shape_of
from corral.domain.fields.own_code import compile_code
from corral.domain.fields.spec import FieldSpec
from corral.domain.net.canonical import Link, links_to
from corral.domain.net.url import Target

_CACHE_BYTES = 16 * 1024 * 1024
_ENTRY_BYTES = 600  # without the texts
_MAX_PLANS = 64


class _ClassifiedLink(NamedTuple):
    """A link with its keys, and the rule that refuses it, if any."""

    url: str
    key: str
    short: str
    host: str
    reason: str | None
    has_session: bool = False
    is_file: bool = False  # by the extension in its path


class LinkClassifier:
    """Classifies links by the plan of a crawl. Cached results are keyed by the classifier itself."""

    def __init__(self, plan: CrawlPlan, memory: "LinkMemory") -> None:
        self.plan = plan
        self._memory = memory

    def classify(
        self, base: Target, references: Sequence[str], today: date, *, is_too_deep: bool
    ) -> list[_ClassifiedLink | None]:
        """Classify the references of a page, with None for those that cannot be fetched.

        A result depends only on the folder of the page, so all pages in a folder share the cached results.
        """
        settings = (self, is_too_deep, today)
        known, site = self._memory.of(settings), base.origin
        folder = site + base.path[: base.path.rfind("/") + 1]
        found = []
        for reference in references:
            # A reference with a leading slash does not depend on the folder: cache it for the whole site.
            scope = site if reference[:1] == "/" else folder
            try:
                found.append(known[scope, reference])
            except KeyError:
                classified = self._classify_one(base, reference, today, is_too_deep=is_too_deep)
                found.append(classified)
                # A reference with a leading question mark depends on the page itself: do not cache it.
                if reference[:1] != "?":
                    known = self._memory.store(settings, (scope, reference), classified)
        return found

    def _classify_one(self, base: Target, reference: str, today: date, *, is_too_deep: bool) -> _ClassifiedLink | None:
        [link] = links_to(base, (reference,), self.plan.counting_params)
        if link is None:
            return None
        depth = self.plan.max_depth + 1 if is_too_deep else self.plan.max_depth
        reason: str | None = self.plan.scope.refuses(link.url, depth)
        if reason is None and self.plan.avoid_traps:
            reason = shape_of(link.url, today)
        return _ClassifiedLink(link.url, link.key, short_key(link.key), host_of(link.url), reason, *_signs(link))


def _signs(link: Link) -> tuple[bool, bool]:
    return link.has_session, is_named_as_file(link.url)


_Reference = tuple[str, str]  # a site or a folder, and a reference as it is written
_Settings = tuple[LinkClassifier, bool, date]


class LinkMemory:
    """Cache of classified references: menus are the same on every page of a site.

    It estimates its size and clears itself when it grows too large.
    """

    def __init__(self, max_bytes: int = _CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._known: dict[_Settings, dict[_Reference, _ClassifiedLink | None]] = {}
        self._bytes = 0

    def of(self, settings: _Settings) -> dict[_Reference, _ClassifiedLink | None]:
        return self._known.setdefault(settings, {})

    def store(
        self, settings: _Settings, reference: _Reference, classified: _ClassifiedLink | None
    ) -> dict[_Reference, _ClassifiedLink | None]:
        """Cache a result; return the dictionary to use from now on, which is new if the cache was cleared."""
        # A character of a reference may take four bytes, and twelve bytes, percent-encoded, in the URL and its key.
        size = _ENTRY_BYTES + 4 * len(reference[1]) + (0 if classified is None else 2 * len(classified.url))
        if self._bytes + size > self._max_bytes:
            self._known.clear()
            self._bytes = 0
        self._bytes += size
        known = self.of(settings)
        known[reference] = classified
        return known


class ReadMemory:
    """The caches of one reading process between pages. They never change the result of a reading."""

    def __init__(self, max_link_bytes: int = _CACHE_BYTES) -> None:
        self.links = LinkMemory(max_link_bytes)
        self.words = WordCounters()
        # Parsing the plan of a crawl takes longer than reading one of its pages.
        self._classifiers: dict[str, LinkClassifier] = {}
        self._compiled: tuple[str | None, CodeType] | None = None

    def classifier(self, packed: str) -> LinkClassifier:
        """Return the classifier of a packed plan: one for all pages of the crawl."""
        classifier = self._classifiers.get(packed)
        if classifier is None:
            classifier = LinkClassifier(CrawlPlan.of(orjson.loads(packed)), self.links)
            while len(self._classifiers) >= _MAX_PLANS:
                del self._classifiers[next(iter(self._classifiers))]
            self._classifiers[packed] = classifier
        return classifier

    def compile(self, spec: FieldSpec) -> CodeType:
        """Return the compiled file of own code. Only the last one is cached: a reader serves one such file."""
        if self._compiled is None or self._compiled[0] != spec.code:
            self._compiled = (spec.code, compile_code(spec))
        return self._compiled[1]

    def plan(self, packed: str) -> CrawlPlan:
        return self.classifier(packed).plan


def host_of(url: str) -> str:
    """Return the host of a canonical URL, with its port."""
    return url[url.find("//") + 2 :].partition("/")[0]
