"""A crawl in miniature: every decision of `domain` on sites of real pages and traps, without anything fetched."""

import re
from collections import Counter, deque
from datetime import date
from typing import NamedTuple

from corral.domain.crawl.scope import Scope
from corral.domain.crawl.templates.budget import TemplateBudget
from corral.domain.crawl.templates.fingerprint import PrintMemory, sketch
from corral.domain.crawl.templates.traps import (
    DEFERRING,
    Trap,
    is_dated,
    is_named_by_list,
    list_beside,
    shape_of,
    template_of,
)
from corral.domain.net.canonical import links_to
from corral.domain.net.url import parse_target
from tests.domain.crawl.trap_sites import Answer, Page

HOME = "https://example.com/"
TODAY = date(2026, 11, 15)


class Site:
    """`kinds` by the first folder of their paths; `real` are the finite ones."""

    def __init__(self, real: dict[str, Answer], traps: dict[str, Answer], entries: list[str]) -> None:
        self.real, self.traps, self.entries = real, traps, entries
        self.fetched: list[str] = []

    def answer(self, url: str) -> Page:
        target = parse_target(url)
        kind, _, rest = target.path.strip("/").partition("/")
        self.fetched.append(kind)
        answer = {**self.real, **self.traps}.get(kind)
        if answer is None:
            return "Welcome to all of this", self.entries
        return answer(rest, target.query or "")

    @property
    def found(self) -> int:
        return sum(kind in self.real for kind in self.fetched)

    @property
    def wasted(self) -> int:
        return sum(kind in self.traps for kind in self.fetched)


class Deferred:
    """Addresses by the name that holds them back, those of the least suspect name first."""

    def __init__(self, budget: TemplateBudget) -> None:
        self._budget = budget
        self._by_name: dict[str, deque[tuple[str, int, str | None]]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def add(self, url: str, depth: int, found_on: str | None, trap: Trap) -> None:
        name = self._budget.behind(template_of(url), trap, found_on)
        self._by_name.setdefault(name, deque()).append((url, depth, found_on))

    def pop(self) -> tuple[str, int, str | None]:
        growth = self._budget.growth(self._by_name)
        name = min(self._by_name, key=lambda each: (growth.get(each, 0.0), self._by_name[each][0][1]))
        found = self._by_name[name].popleft()
        if not self._by_name[name]:
            del self._by_name[name]
        return found


class Visit(NamedTuple):
    url: str
    text: str
    references: list[str]
    led_to: list[str]
    found_on: str | None
    leads_back: bool
    known: list[str]  # addresses beside it that it leads to


def _observe(budget: TemplateBudget, prints: PrintMemory, visit: Visit) -> None:
    own = set(re.findall(r"[^\W_]+", " ".join([visit.url, *visit.references]).lower()))
    print_, words = sketch(visit.text, own)
    budget.observe(
        template_of(visit.url),
        print_,
        words=words,
        led_to=visit.led_to,
        is_again=prints.has(print_),
        is_dated=is_dated(visit.url),
        found_on=visit.found_on,
        closing=[hash(each) for each in visit.known],
        leads_back=visit.leads_back,
    )


def crawl(site: Site, most: int = 50_000) -> dict[str, int]:
    """Breadth first, deferred addresses after all others; how many were refused for which template."""
    scope = Scope.of({"max_depth": 100}, [HOME])
    budget, prints = TemplateBudget(), PrintMemory()
    seen = {HOME}
    parents: dict[str, str] = {}
    queue: deque[tuple[str, int, str | None, bool]] = deque([(HOME, 0, None, False)])
    deferred = Deferred(budget)
    refused: Counter[str] = Counter()
    while (queue or deferred) and budget.fetched < most:
        if not queue:
            queue.append((*deferred.pop(), True))
        url, depth, found_on, is_deferred = queue.popleft()
        template = template_of(url)
        trap = budget.hold(template, is_deferred=is_deferred, found_on=found_on) if depth else None
        if trap in DEFERRING:
            deferred.add(url, depth, found_on, trap)
        elif trap is not None:
            refused[template] += 1
        if trap is not None:
            continue
        budget.fetched += 1
        text, references = site.answer(url)
        led_to: list[str] = []
        links = [link for link in links_to(parse_target(url), references) if link is not None]
        known = [link.url for link in links if link.key in seen and link.url not in (url, parents.get(url))]
        for link in links:
            # Depth does not count here: chains are longer than any.
            shape = shape_of(link.url, TODAY)
            is_refused = shape is not None and not is_named_by_list(shape, url, TODAY)
            if link.key in seen or scope.refuses(link.url, 1) or is_refused:
                continue
            seen.add(link.key)
            parents[link.url] = url
            trap = budget.admit(template_of(link.url), template)
            if trap is None:
                queue.append((link.url, depth + 1, template, False))
            elif trap in DEFERRING:
                deferred.add(link.url, depth + 1, template, trap)
            else:
                refused[template_of(link.url)] += 1
                continue
            led_to.append(template_of(link.url))
        seen_beside = list_beside(url, known)
        leads_back = any(link.url == parents.get(url) for link in links)
        _observe(budget, prints, Visit(url, text, references, led_to, found_on, leads_back, seen_beside))
    return refused
