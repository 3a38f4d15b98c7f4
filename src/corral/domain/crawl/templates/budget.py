"""Per-template counts of a crawl, which decide which URLs come last and which templates never end.

Content is evidence, never proof. A template whose pages bring nothing new is *starved*: its URLs are deferred, and
fetched in order when nothing else is left. Only growth proves that it has no end. A finite set drains: its pages lead
to fewer and fewer new URLs of their own kind, and the number of waiting URLs peaks once. A trap reaches new peaks
forever.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from corral.domain.crawl.sharing import drop_hosts
from corral.domain.crawl.templates.growth import count_own
from corral.domain.crawl.templates.tally import TemplateTally, TrapLimits, has_new_word
from corral.domain.crawl.templates.traps import Trap, family_of, names_of, path_of, root_of, variants_of

# If links look invented, a text is new only if more than one word in this many is new.
_WORDS_OF_INVENTED = 4
_FORGIVEN = 5  # barren pages forgiven per new page; few, so that a new month name does not save a calendar
_FORGIVEN_GROWTH = 20  # pages of growth forgiven per page with new content
# A chain that drains by less than this looks like one that does not: some new links are mistaken for known ones.
_TOLERANCE = 20
_NEAR_PEAK = 0.7  # calendars come in waves: a page for each day of a month, and then the next month
_FED_WEIGHT = 0.5  # weight, in pages, of each day that the months of an empty calendar lead to
_BRANCHING = 2.0  # new URLs per page; a chain has one


class TemplateBudget:
    """Counts the cost and the yield of each template of a crawl. Its memory and its document are bounded.

    `admit` is called once for every new URL, `hold` once before a URL is fetched, `observe` for every page.

    A page is counted twice: by its template, and by its folder (a maze made of words never repeats a template) or, if
    it has a query, by its path (facets combine their parameters without end). It is barren in three cases: it has no
    new word; its content is similar to an earlier page of the same name (ignored for a path with queries, which shows
    the same things in another order); or its content equals that of any page of the crawl. A page that leads to
    anything new elsewhere is never barren: list pages are alike, and what matters is behind them.
    """

    def __init__(self, limits: TrapLimits | None = None) -> None:
        self.limits = limits or TrapLimits()
        self.fetched = 0  # pages of the whole crawl
        self._tallies: dict[str, TemplateTally] = {}
        self._touched: set[str] = set()
        self._suspects: dict[str, int] = {}  # growth of names that are not chains
        self._feeders: dict[str, dict[str, None]] = {}  # by path: the paths whose pages led to its starved URLs

    def admit(self, template: str, found_on: str | None = None) -> Trap | None:
        """Return why this new URL is deferred or refused; None admits and counts it."""
        if self._find_endless(template) is not None:
            return Trap.ENDLESS
        variants = variants_of(template)
        if variants is not None:
            tally = self._tally(variants)
            if tally.admitted >= self.limits.query_variants:
                return Trap.QUERY_VARIANTS
            tally.admitted += 1
        return self._why_deferred(template, found_on or template)

    def hold(self, template: str, *, is_deferred: bool, found_on: str | None = None) -> Trap | None:
        """Return why a URL is not fetched now. A deferred URL is fetched unless its template proved to be a trap."""
        if self._find_endless(template) is not None:
            return Trap.ENDLESS
        return None if is_deferred else self._why_deferred(template, found_on or template)

    def behind(self, template: str, trap: Trap, found_on: str | None = None) -> str:
        """Return the name that holds back a URL of this template."""
        if trap is Trap.QUERY_VARIANTS:
            return variants_of(template) or template
        if trap is Trap.ENDLESS:
            return self._find_endless(template) or template
        names = self._names_of(template, found_on or template)
        name = self._find_starved(names) if trap is Trap.NO_NEW_CONTENT else self._find_invented(names)
        return name or template

    def observe(
        self,
        template: str,
        print_: int,
        *,
        words: Sequence[int] = (),
        led_to: Sequence[str] = (),
        is_again: bool = False,
        is_dated: bool = False,
        found_on: str | None = None,
        closing: Collection[int] = (),
        leads_back: bool = False,
    ) -> list[str]:
        """Count a page, and return the names (`names_of`) that it proves to be endless.

        `led_to` are the templates of all new URLs on the page; `closing` are numbers of known neighbouring pages that
        it links to. `is_again`: another page of the crawl had this content. `leads_back`: it links to `found_on`.
        """
        own_names, variants = self._names_of(template), variants_of(template)
        led_by_name = [self._names_of(each, template) for each in led_to]
        parents = () if found_on is None else names_of(found_on)
        # URLs elsewhere count as new content only while their own pages bring some.
        dry = {names: self._dryness(names) for names in set(led_by_name)}
        outside = [names for names in led_by_name if not set(names) & set(own_names)]
        fed, returning = self._count_fed(template, [names for names in outside if self._is_barren(names, dry[names])])
        are_new, endless = [], []
        for name in own_names:
            tally = self._tally(name)
            tally.is_dated = is_dated
            unseen, is_similar = self._remember(tally, name, template, (print_, words))
            own, grown = count_own(name, template, led_by_name)
            tally.spread.add(
                returning + grown,
                is_again=is_again,
                is_similar=is_similar or is_again,
                is_dated=is_dated,
                closing=closing,
                leads_back=leads_back,
                fed=fed,
            )
            is_new = has_new_word(words, unseen, is_template=name == template) and not (is_similar or is_again)
            is_new = self._count(
                tally, (words, unseen), {names: dry[names] for names in dry if name not in names}, is_new
            )
            are_new.append(is_new)
            # Only URLs that a template produces itself are growth: a list names finitely many.
            if name in parents and self._grows_without_end(name, tally, own, is_new=is_new):
                endless.append(name)
        self._credit(variants if all(are_new) else None)
        return endless

    def _remember(
        self, tally: TemplateTally, name: str, template: str, content: tuple[int, Sequence[int]]
    ) -> tuple[list[int], bool]:
        """Return the words that are new to a name, and whether the content is similar to another of its pages."""
        tally.note_query(template)
        unseen = tally.add_words(content[1], self.limits.words, is_template=name == template)
        is_path = name == variants_of(template)
        return unseen, not is_path and not tally.is_new_print(content[0], self.limits.prints)

    def _credit(self, variants: str | None) -> None:
        """Exempt a page with new content from the query limit of its path."""
        if variants is not None:
            tally = self._tally(variants)
            tally.admitted = max(0, tally.admitted - 1)

    def _names_of(self, template: str, found_on: str | None = None) -> tuple[str, ...]:
        """Return the names of a template, plus one shared by all small folders that lead to each other.

        A maze that invents its first folder hardly has two pages under any other name.
        """
        names = names_of(template)
        if found_on == template:
            return names
        family = family_of(template)
        is_beside = found_on is not None and (family_of(found_on) == family or self._is_known_folder(found_on))
        if is_beside or self._is_known_folder(template):
            return names
        return (*names, family_of(f"{template.partition('/')[0]}/*/"))

    def _is_known_folder(self, template: str) -> bool:
        """True for a folder with enough pages to be judged by them, and for the root of a host."""
        family = family_of(template)
        tally = self._tallies.get(family)
        return family == root_of(template) or (tally is not None and tally.spread.pages >= self.limits.barren_pages)

    def _dryness(self, names: tuple[str, ...]) -> int:
        """Return the largest number of pages that one of these names has had since its last new content."""
        return max((self._tallies[name].spread.dry for name in names[:2] if name in self._tallies), default=0)

    def _is_barren(self, names: tuple[str, ...], dry: int) -> bool:
        return (
            dry >= self.limits.barren_pages
            or self._find_starved(names) is not None
            or self._find_invented(names) is not None
        )

    def _count_fed(self, template: str, barren: Sequence[tuple[str, ...]]) -> tuple[int, int]:
        """Count the barren URLs elsewhere that a page leads to, and those of them whose folder leads back to its own.

        Two templates that lead only to each other, such as topics and their authors, grow together.
        """
        path, returning = path_of(template), 0
        for names in barren:
            other = path_of(names[0])
            returning += other in self._feeders.get(path, ())
            if len(self._feeders) < self.limits.templates or other in self._feeders:
                self._feeders.setdefault(other, {})[path] = None
        return len(barren), returning

    # -- growth ------------------------------------------------------------------------------------------

    def growth(self, names: Collection[str]) -> dict[str, float]:
        """Return the suspicion of each name by its growth; deferred URLs of the least suspect name come first."""
        suspects = {path_of(name) for name, tally in self._tallies.items() if tally.is_suspect(name)}
        return {name: self._growth_of(name, suspects) for name in names if name in self._tallies}

    def _growth_of(self, name: str, suspects: set[str]) -> float:
        is_alone = suspects <= {path_of(name)}
        growth = self._tallies[name].suspicion(name, is_alone=is_alone)
        if growth or "?" in name:
            return growth
        # The days of a calendar add nothing themselves; the months in the same folder do.
        folder = self._tallies.get(family_of(name))
        if folder is None or name.endswith("…"):
            return 0.0
        return folder.suspicion(family_of(name), is_alone=is_alone) / 2

    def _grows_without_end(self, name: str, tally: TemplateTally, yielded: int, *, is_new: bool) -> bool:
        """Count a page with the number of new addresses of its own kind; return whether that proves a trap."""
        tally.waiting += yielded - 1
        if tally.is_endless or is_new:
            return False
        tally.yields.add(yielded)
        tally.tried += 1
        if tally.waiting < _NEAR_PEAK * tally.peak - 1 - tally.tried // _TOLERANCE:
            return False  # it drains
        tally.peak = max(tally.peak, tally.waiting)
        tally.grown = tally.tried
        limit = self._limit_of(name, tally)
        fed = _FED_WEIGHT * tally.spread.fed if self._is_empty_calendar(name, tally) else 0
        if tally.grown + fed < limit << tally.extensions:
            return False
        if not (tally.is_combined or tally.is_dated) and tally.yields.slow_down:
            tally.extensions += 1
            return False
        # Pages at the root of a host share no folder that could be a trap as a whole.
        tally.is_endless = name != root_of(name)
        return tally.is_endless

    def _limit_of(self, name: str, tally: TemplateTally) -> int:
        limits, scale = self.limits, max(1.0, self.fetched / self.limits.pages)
        if tally.is_combined:
            limit, least = limits.combined, limits.least
        elif self._is_empty_calendar(name, tally):
            limit, least = limits.dated, limits.least
        elif tally.yields.mean >= _BRANCHING:
            # A set in which each page leads to two others grows until half of it is fetched; then it drains.
            rate = tally.yields.mean
            limit = max(limits.branching, round(limits.branching_found / rate))
            led_to = limits.least_repeated_found if tally.spread.is_repeated else limits.least_branching_found
            least = max(limits.least_branching, round(led_to / rate))
        else:
            self._suspects.pop(name, None)
            return round(self._limit_of_chain(name, tally, self._grown_beside(name), scale) * scale)
        self._suspects[name] = tally.grown
        is_used_up = self._grown_beside(name) >= limits.others * scale
        return round((min(limit, least) if is_used_up else limit) * scale)

    def _is_empty_calendar(self, name: str, tally: TemplateTally) -> bool:
        """True for dated pages that are nearly the same and lead only to pages that are nearly the same."""
        if not (tally.is_dated and tally.spread.is_uniform):
            return False
        fed = [path for path, feeders in self._feeders.items() if path_of(name) in feeders]
        tallies = [self._tallies.get(path) or self._tallies.get(f"{path}?…") for path in fed]
        return all(each.spread.is_uniform for each in tallies if each is not None)

    def _limit_of_chain(self, name: str, tally: TemplateTally, grown_beside: int, scale: float) -> int:
        limits = self.limits
        if tally.is_empty_list(name) and grown_beside >= limits.others * scale:
            return limits.numbered
        return max(limits.chain, limits.chain_alone - 2 * grown_beside)

    def _grown_beside(self, name: str) -> int:
        """Return the pages of growth of all suspects, except those that count the same pages as this name."""
        own, grown = path_of(name), Counter[str]()
        for suspect, pages in self._suspects.items():
            path = path_of(suspect)
            if path != own:
                grown[path] = max(grown[path], pages)
        return grown.total()

    # -- content -----------------------------------------------------------------------------------------

    def _count(
        self,
        tally: TemplateTally,
        words: tuple[Sequence[int], Sequence[int]],
        others: Mapping[tuple[str, ...], int],
        is_new: bool,
    ) -> bool:
        """Count a page as barren or new, and return True if it is new. `words`: all of them, and the new ones.

        A page with thin content counts as barren, but not as growth.
        """
        tally.spread.note_content(is_new=is_new, led_to=others.values())
        leads_on = any(not self._is_barren(names, dry) for names, dry in others.items())
        few_new = 0 < len(words[0]) >= _WORDS_OF_INVENTED * len(words[1])
        is_thin = tally.spread.is_invented and few_new and not leads_on
        is_new = leads_on or is_new
        if is_new and not is_thin:
            tally.barren = 0 if self._is_starved(tally) else max(0, tally.barren - _FORGIVEN)
            forgiven = min(_FORGIVEN_GROWTH, tally.grown)
            tally.grown -= forgiven
            tally.tried -= min(forgiven, tally.tried)
        else:
            tally.barren = min(tally.barren + 1, self.limits.barren_pages)
        return is_new

    def _why_deferred(self, template: str, found_on: str) -> Trap | None:
        names = self._names_of(template, found_on)
        if self._find_starved(names) is not None:
            return Trap.NO_NEW_CONTENT
        return Trap.INVENTED_LINKS if self._find_invented(names) is not None else None

    def _is_starved(self, tally: TemplateTally) -> bool:
        limits = self.limits
        least = min(limits.barren_growing, limits.barren_pages) if tally.spread.grows else limits.barren_pages
        return tally.barren >= least

    def _find_starved(self, names: Sequence[str]) -> str | None:
        tallies = self._tallies
        for name in names:
            if (tally := tallies.get(name)) is not None and self._is_starved(tally):
                return name
        return None

    def _find_invented(self, names: Sequence[str]) -> str | None:
        """Return the name of a set that looks like a maze although its pages have new words."""
        for name in names:
            tally = self._tallies.get(name)
            if tally is not None and tally.spread.pages >= self.limits.invented and tally.spread.is_invented:
                return name
        return None

    def _find_endless(self, template: str) -> str | None:
        tallies = self._tallies
        for name in names_of(template):
            if (tally := tallies.get(name)) is not None and tally.is_endless:
                return name
        return None

    def list_held(self) -> dict[str, Trap]:
        """Return every name whose URLs are deferred or refused now, with the rule."""
        held: dict[str, Trap] = {}
        for name, tally in self._tallies.items():
            if tally.is_endless:
                held[name] = Trap.ENDLESS
            elif self._is_starved(tally):
                held[name] = Trap.NO_NEW_CONTENT
            elif self._find_invented((name,)) is not None:
                held[name] = Trap.INVENTED_LINKS
            elif tally.admitted >= self.limits.query_variants:
                held[name] = Trap.QUERY_VARIANTS
        return held

    # -- memory ------------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        return {"templates": [[name, *tally.document()] for name, tally in self._tallies.items()]}

    @staticmethod
    def of(document: Mapping[str, Any], limits: TrapLimits | None = None) -> "TemplateBudget":
        budget = TemplateBudget(limits)
        budget.take_over(document)
        return budget

    def take_over(self, document: Mapping[str, Any]) -> None:
        """Add the knowledge of another worker."""
        for name, *tally in document.get("templates", ()):
            self._tallies[name] = TemplateTally.of(tally)
        while len(self._tallies) > self.limits.templates:
            self._forget_oldest()

    def forget(self, hosts: Collection[str]) -> None:
        """Drop all knowledge about these hosts, which another worker took over."""
        self._tallies = drop_hosts(self._tallies, hosts)
        self._touched = set(drop_hosts(dict.fromkeys(self._touched), hosts))
        self._suspects = drop_hosts(self._suspects, hosts)
        self._feeders = drop_hosts(self._feeders, hosts)

    def changes(self) -> dict[str, list[Any] | None]:
        """Return the documents of all names changed since the last call; None for a name that was forgotten."""
        touched, self._touched = self._touched, set()
        tallies = self._tallies
        return {name: tallies[name].document() if name in tallies else None for name in touched}

    def _tally(self, name: str) -> TemplateTally:
        tally = self._tallies.pop(name, None)
        if tally is None:
            tally = TemplateTally()
            if len(self._tallies) >= self.limits.templates:
                self._forget_oldest()
        self._touched.add(name)
        # Insert it last: the dictionary is ordered by use.
        self._tallies[name] = tally
        return tally

    def _forget_oldest(self) -> None:
        """Forget the least recently used name; names that hold URLs back go last."""
        tallies = self._tallies.items()
        free = (name for name, tally in tallies if not (tally.is_endless or self._is_starved(tally)))
        oldest = next(free, next((name for name, tally in tallies if not tally.is_endless), None))
        oldest = next(iter(self._tallies)) if oldest is None else oldest
        del self._tallies[oldest]
        self._suspects.pop(oldest, None)
        self._touched.add(oldest)
