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

_REMEMBERED_BYTES = 16 * 1024 * 1024
_ENTRY_BYTES = 600  # beside its texts
_MAX_PLANS = 64


class _ClassifiedLink(NamedTuple):
    """A link, by its short key, with the rule that refuses it."""

    url: str
    key: str
    short: str
    host: str
    reason: str | None
    has_session: bool = False
    is_file: bool = False  # as its name ends


class LinkClassifier:
    """Classifies links by the plan of a crawl. Its results in the memory are keyed by its identity."""

    def __init__(self, plan: CrawlPlan, memory: "LinkMemory") -> None:
        self.plan = plan
        self._memory = memory

    def classify(
        self, base: Target, references: Sequence[str], today: date, *, is_too_deep: bool
    ) -> list[_ClassifiedLink | None]:
        """Classify references of a page; None for what cannot be fetched. Only the folder of the page matters."""
        about = (self, is_too_deep, today)
        known, site = self._memory.of(about), base.origin
        folder = site + base.path[: base.path.rfind("/") + 1]
        found = []
        for reference in references:
            # What begins with a slash does not depend on the folder, and is remembered for all of the site.
            scope = site if reference[:1] == "/" else folder
            try:
                found.append(known[scope, reference])
            except KeyError:
                classified = self._classify_one(base, reference, today, is_too_deep=is_too_deep)
                found.append(classified)
                # What begins with a question mark does depend on the page.
                if reference[:1] != "?":
                    known = self._memory.keep(about, (scope, reference), classified)
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
_About = tuple[LinkClassifier, bool, date]


class LinkMemory:
    """Cache of classified references: menus are the same on every page of a site.

    Its size is estimated, and it is cleared when it grows too large.
    """

    def __init__(self, max_bytes: int = _REMEMBERED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._known: dict[_About, dict[_Reference, _ClassifiedLink | None]] = {}
        self._taken = 0

    def of(self, about: _About) -> dict[_Reference, _ClassifiedLink | None]:
        return self._known.setdefault(about, {})

    def keep(
        self, about: _About, reference: _Reference, classified: _ClassifiedLink | None
    ) -> dict[_Reference, _ClassifiedLink | None]:
        """Where to look from now on."""
        # Every character of a reference may be four bytes, or twelve in the address and in its key.
        size = _ENTRY_BYTES + 4 * len(reference[1]) + (0 if classified is None else 2 * len(classified.url))
        if self._taken + size > self._max_bytes:
            self._known.clear()
            self._taken = 0
        self._taken += size
        known = self.of(about)
        known[reference] = classified
        return known


class ReadMemory:
    """What one reading process remembers between pages. Readings give the same result with an empty one."""

    def __init__(self, max_link_bytes: int = _REMEMBERED_BYTES) -> None:
        self.links = LinkMemory(max_link_bytes)
        self.words = WordCounters()
        # Parsing the plan of a crawl takes longer than reading one of its pages.
        self._classifiers: dict[str, LinkClassifier] = {}
        self._compiled: tuple[str | None, CodeType] | None = None

    def classifier(self, packed: str) -> LinkClassifier:
        """Return the classifier of a packed plan: one for all pages of the crawl."""
        known = self._classifiers.get(packed)
        if known is None:
            known = LinkClassifier(CrawlPlan.of(orjson.loads(packed)), self.links)
            while len(self._classifiers) >= _MAX_PLANS:
                del self._classifiers[next(iter(self._classifiers))]
            self._classifiers[packed] = known
        return known

    def compile(self, spec: FieldSpec) -> CodeType:
        """The compiled file of own code; a reader serves one such file."""
        if self._compiled is None or self._compiled[0] != spec.code:
            self._compiled = (spec.code, compile_code(spec))
        return self._compiled[1]

    def plan(self, packed: str) -> CrawlPlan:
        return self.classifier(packed).plan


def host_of(url: str) -> str:
    """Of a canonical URL."""
    return url[url.find("//") + 2 :].partition("/")[0]
