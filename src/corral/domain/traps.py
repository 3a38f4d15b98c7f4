"""Addresses that never end. Some show it by their shape; the others are counted by the template they are made from."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any

from corral.domain.fingerprint import NUMBERS_FROM, is_near
from corral.domain.share import place_of_template

MAX_SEGMENTS = 20
MAX_REPEATS = 3  # of one segment, anywhere in the path: links that lack their first slash come back to the same folder
# Events are announced, archives reach back; beyond these only machines go.
YEARS_AHEAD = 2
YEARS_BACK = 150

_HANDFUL = 50
_SOME_NUMBERS = 3
_FORGIVEN = 5  # barren pages, for each that is not: a new name of a month now and then does not save a calendar
_SAMPLED = 16  # of the words of a path with queries, whose pages show the same things in all combinations
_MAX_PATH_CHARS = 120
_MAX_QUERY_CHARS = 60
_MAX_SEGMENT_CHARS = 64
# A whole date anywhere; a year and a month only where they stand alone, for part numbers look like them.
_DAY = re.compile(r"(?<![0-9])([12][0-9]{3})([-_/.])(?:0?[1-9]|1[0-2])\2(?:0?[1-9]|[12][0-9]|3[01])(?![0-9])")
_MONTH = re.compile(r"[/=]([12][0-9]{3})[-_/](?:0?[1-9]|1[0-2])(?=[/?&]|$)")
_FOUR_DIGITS = re.compile("[12][0-9]{3}")
_YEAR = re.compile(r"([12][0-9]{3})(?:(?:0[1-9]|1[0-2])(?:[0-3][0-9])?)?(?![0-9])")
_DATE_NAMES = frozenset(
    {"year", "month", "date", "day", "week", "y", "yr", "from", "to", "start", "end", "cal", "when"}
)

_DATE = re.compile(r"[12][0-9]{3}[-_.][01]?[0-9](?:[-_.][0-3]?[0-9])?(?![0-9])")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
# Letters and digits mixed, as no word is.
_TOKEN = re.compile(r"(?<![0-9a-z])(?=[a-z_-]*[0-9])(?=[0-9_-]*[a-z])[0-9a-z_-]{8,}(?![0-9a-z])")
_NUMBER = re.compile(r"[0-9]+")


class Trap(StrEnum):
    REPEATED_SEGMENTS = "repeated_segments"
    TOO_MANY_SEGMENTS = "too_many_segments"
    CALENDAR = "calendar"
    QUERY_VARIANTS = "query_variants"
    NO_NEW_CONTENT = "no_new_content"


def shape_of(url: str, today: date) -> Trap | None:
    """The trap this canonical address shows by its shape alone."""
    if url.count("/") >= 6:  # two of them before the host
        segments = url.partition("?")[0].split("/")[3:]
        if len(segments) - (not segments[-1]) > MAX_SEGMENTS:
            return Trap.TOO_MANY_SEGMENTS
        surplus = len(segments) - len(set(segments))
        if surplus >= MAX_REPEATS and any(segments.count(each) > MAX_REPEATS for each in set(segments)):
            return Trap.REPEATED_SEGMENTS
    return Trap.CALENDAR if _is_far_date(url, today.year) else None


def _is_far_date(url: str, this_year: int) -> bool:
    path_at = url.find("/", 8)
    if not _FOUR_DIGITS.search(url, path_at):
        return False  # most of them, at one glance
    first, last = this_year - YEARS_BACK, this_year + YEARS_AHEAD
    if any(not first <= int(match[1]) <= last for match in _DAY.finditer(url, path_at)):
        return True
    if any(int(match[1]) > last for match in _MONTH.finditer(url, path_at)):
        return True
    _, mark, query = url.partition("?")
    return bool(mark) and any(not first <= year <= last for year in _years(query))


def _years(query: str) -> Iterator[int]:
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name.lower() in _DATE_NAMES and (match := _YEAR.match(value)):
            yield int(match[1])


def template_of(url: str) -> str:
    """What addresses of one making have in common: host, path and the names of the parameters, in small letters.

    Numbers, dates, hashes and the words of a long name are left out, and so are the values of parameters.
    """
    start = url.find("://") + 3
    path, mark, query = url[start:].lower().partition("?")
    host, slash, rest = path.partition("/")
    template = host + slash + "/".join([_blurred(segment) if segment else "" for segment in rest.split("/")])
    if mark:
        names = sorted({part.partition("=")[0] for part in query.split("&")})
        asked = "&".join([_NUMBER.sub("{n}", name) for name in names])
        return f"{template[:_MAX_PATH_CHARS]}?{asked[:_MAX_QUERY_CHARS]}"
    return template[:_MAX_PATH_CHARS]


def family_of(template: str) -> str:
    """All templates below one folder of the host: mazes are made of words, too, and then no template comes twice."""
    path = template.partition("?")[0]
    host, _, rest = path.partition("/")
    folder, slash, _ = rest.partition("/")
    return f"{host}/{folder}/…" if slash else f"{host}/…"


def variants_of(template: str) -> str | None:
    """All templates of one path with any query: what the links of a search form or of facets have in common."""
    path, mark, _ = template.partition("?")
    return f"{path}?…" if mark else None


def names_of(template: str) -> tuple[str, ...]:
    """Everything that a page of this template is counted by. The ellipsis is in no address."""
    return (template, variants_of(template) or family_of(template))


def _blurred(segment: str) -> str:
    if segment.isalpha():
        return segment
    # The patterns below look twice at what they see; nobody shall make them look at much.
    if len(segment) > _MAX_SEGMENT_CHARS:
        return "{name}"
    is_slug = "." not in segment and segment.count("-") + segment.count("_") >= 2
    if is_slug and not _DATE.search(segment) and not _UUID.fullmatch(segment):
        return "{name}"
    segment = _UUID.sub("{id}", segment)
    segment = _DATE.sub("{date}", segment)
    segment = _TOKEN.sub("{id}", segment)
    return _NUMBER.sub("{n}", segment)


@dataclass(frozen=True, slots=True)
class TrapLimits:
    query_variants: int = 500  # addresses of one path that differ in the query only, and brought nothing new so far
    barren_pages: int = 12  # without anything new: the template is starved
    first_probe: int = 50  # so many addresses after a template starved, one is fetched all the same
    templates: int = 500  # remembered; the one unused for longest is forgotten first
    prints: int = 8  # remembered of one template
    words: int = 256  # remembered of one template, or of one path with queries


class Change(StrEnum):
    STARVED = "starved"
    LIFTED = "lifted"


@dataclass(slots=True)
class _Tally:
    admitted: int = 0  # addresses with a query that were let in, less those that were worth it
    refused: int = 0  # because there were too many of those
    held_back: int = 0  # since it starved
    passes: int = 0  # probes that were let in and not fetched yet
    barren: int = 0  # pages that brought nothing new, less some for each that did
    prints: list[int] = field(default_factory=list)  # of different contents, the last seen last
    words: dict[int, None] = field(default_factory=dict)  # the oldest first
    is_worth: bool = False  # the last page brought something new


class TemplateBudget:
    """Counts what each template of a crawl costs and brings. Its memory, and its document, are bounded.

    `admit` is asked once for every new address, `hold` once before one that was let in is fetched, and `observe` is
    told of every page. Nothing is for ever: now and then an address of a starved template is fetched all the same, and
    as soon as a page brings something new, the template is like any other.

    A page is counted twice: by its template, and by the folder it is in (mazes made of words have no template twice)
    or, where it has a query, by its path (facets combine their parameters without end). It is barren if it has no word
    that was not there before, or if its content is near to what the same name brought before (for a path with queries
    that does not count: the same things come in another order), or the same as that of any page of the crawl. One that
    leads to anything new elsewhere is never barren: lists are alike, and all that matters is behind them.
    """

    def __init__(self, limits: TrapLimits | None = None) -> None:
        self.limits = limits or TrapLimits()
        self._tallies: dict[str, _Tally] = {}
        self._touched: set[str] = set()

    def admit(self, template: str) -> Trap | None:
        """Why this new address should not be followed; None lets it in and counts it."""
        variants = variants_of(template)
        if variants is not None and (tally := self._tally(variants)).admitted >= self.limits.query_variants:
            tally.refused += 1
            return Trap.QUERY_VARIANTS
        barren = self._barren(template)
        if barren is not None:
            if not self._is_probe(barren):
                return Trap.NO_NEW_CONTENT
            barren.passes += 1
        if variants is not None:
            self._tally(variants).admitted += 1
        return None

    def hold(self, template: str) -> Trap | None:
        """Why a page that was let in should not be fetched now; None lets it go, and counts it where it is a probe."""
        barren = self._barren(template)
        if barren is None:
            return None
        if barren.passes:
            barren.passes -= 1
            return None
        return None if self._is_probe(barren) else Trap.NO_NEW_CONTENT

    def starved_by(self, template: str) -> Trap | None:
        """The same as `hold`, for who only wants to know."""
        return None if self._barren(template) is None else Trap.NO_NEW_CONTENT

    def _is_probe(self, barren: _Tally) -> bool:
        """The 50th, the 100th, the 200th and so on: the longer nothing new comes, the less is spent on looking."""
        barren.held_back += 1
        times, rest = divmod(barren.held_back, self.limits.first_probe)
        return rest == 0 and times.bit_count() == 1

    def observe(
        self,
        template: str,
        print_: int,
        *,
        words: Sequence[int] = (),
        led_to: Collection[str] = (),
        is_again: bool = False,
    ) -> dict[str, Change]:
        """Counts a page by the fingerprint of its content, the `rare_words` in it where it has a query, the
        templates of the new addresses it led to, and whether any page of the crawl had that content before.

        Returns the names (`names_of`) that this starves, or lifts: what was skipped for those is worth fetching again.
        """
        variants = variants_of(template)
        news: dict[str, bool] = {}
        changes: dict[str, Change] = {}
        for name in names_of(template):
            tally = self._tally(name)
            # Both are remembered, whatever the other says.
            is_new = self._is_new_word(tally, words[:_SAMPLED] if name == variants else words)
            is_new = (name == variants or self._is_new_print(tally, print_)) and is_new
            is_new = any(name not in names_of(each) for each in led_to) or (is_new and not is_again)
            news[name] = is_new
            change = self._count(tally, is_new=is_new)
            if change is not None:
                changes[name] = change
        if variants is not None and all(news.values()):
            self._was_worth_it(variants, changes)
        return changes

    def _was_worth_it(self, variants: str, changes: dict[str, Change]) -> None:
        """It does not count against the others of its path any more."""
        tally = self._tally(variants)
        tally.admitted = max(0, tally.admitted - 1)
        if self.room_for(variants):
            changes.setdefault(variants, Change.LIFTED)

    def room_for(self, variants: str) -> int:
        """How many refused addresses with this path may come back; a handful at a time, or none."""
        tally = self._tallies.get(variants)
        if tally is None or not tally.refused:
            return 0
        room = min(tally.refused, self.limits.query_variants - tally.admitted)
        return room if room >= min(tally.refused, _HANDFUL) else 0

    def came_back(self, variants: str, count: int, *, is_all: bool) -> None:
        """So many of them did; `is_all` where there were no more."""
        tally = self._tally(variants)
        tally.admitted += count
        tally.refused = 0 if is_all else max(0, tally.refused - count)

    def behind(self, template: str, trap: Trap) -> str:
        """The name that an address of this template is held back by."""
        if trap is Trap.QUERY_VARIANTS:
            return variants_of(template) or template
        return next((name for name in names_of(template) if self.is_starved(name)), template)

    def is_worth(self, name: str) -> bool:
        """The last page that was counted by this name brought something new."""
        tally = self._tallies.get(name)
        return tally is not None and tally.is_worth

    def is_starved(self, name: str) -> bool:
        tally = self._tallies.get(name)
        return tally is not None and self._is_starved(tally)

    def _count(self, tally: _Tally, *, is_new: bool) -> Change | None:
        was_starved = self._is_starved(tally)
        tally.is_worth = is_new
        if is_new:
            tally.barren = 0 if was_starved else max(0, tally.barren - _FORGIVEN)
            tally.held_back = tally.passes = 0
            return Change.LIFTED if was_starved else None
        tally.barren = min(tally.barren + 1, self.limits.barren_pages)
        return Change.STARVED if not was_starved and self._is_starved(tally) else None

    def _is_new_print(self, tally: _Tally, print_: int) -> bool:
        near = next((each for each in reversed(tally.prints) if is_near(each, print_)), None)
        if near is not None:
            # What keeps coming back is what has to be remembered.
            tally.prints.remove(near)
            tally.prints.append(near)
            return False
        tally.prints.append(print_)
        del tally.prints[: -self.limits.prints]
        return True

    def _is_new_word(self, tally: _Tally, words: Sequence[int]) -> bool:
        """One word is enough, for that may be the name of a thing; of numbers it has to be some."""
        unseen = [word for word in words if word not in tally.words]
        tally.words.update(dict.fromkeys(unseen))
        while len(tally.words) > self.limits.words:
            # What is forgotten will be new again: rather one page too many than one too few.
            del tally.words[next(iter(tally.words))]
        numbers = sum(word >= NUMBERS_FROM for word in unseen)
        return len(unseen) > numbers or numbers >= _SOME_NUMBERS or not words

    def _barren(self, template: str) -> _Tally | None:
        for name in names_of(template):
            tally = self._tallies.get(name)
            if tally is not None and self._is_starved(tally):
                return tally
        return None

    def _is_starved(self, tally: _Tally) -> bool:
        return tally.barren >= self.limits.barren_pages

    def starved(self) -> dict[str, Trap]:
        """Every name that gets nothing now, with the rule."""
        found: dict[str, Trap] = {}
        for name, tally in self._tallies.items():
            if self._is_starved(tally):
                found[name] = Trap.NO_NEW_CONTENT
            elif tally.admitted >= self.limits.query_variants:
                found[name] = Trap.QUERY_VARIANTS
        return found

    def document(self) -> dict[str, Any]:
        return {"templates": [[name, *self.tally_of(name)] for name in self._tallies]}

    @staticmethod
    def of(document: Mapping[str, Any], limits: TrapLimits | None = None) -> "TemplateBudget":
        budget = TemplateBudget(limits)
        budget.take_over(document)
        return budget

    def take_over(self, document: Mapping[str, Any]) -> None:
        """What was learned elsewhere."""
        for name, admitted, refused, held_back, passes, barren, prints, words in document.get("templates", ()):
            counts = (admitted, refused, held_back, passes, barren)
            self._tallies[name] = _Tally(*counts, [*prints], dict.fromkeys(words))

    def forget(self, places: Collection[str]) -> None:
        """Everything of these places; whoever has them now keeps it."""
        self._tallies = {name: tally for name, tally in self._tallies.items() if place_of_template(name) not in places}
        self._touched = {name for name in self._touched if place_of_template(name) not in places}

    def changes(self) -> dict[str, list[Any] | None]:
        """By name, what is to be kept of it, of all that were touched since this was asked last; None for nothing."""
        touched, self._touched = self._touched, set()
        return {name: self.tally_of(name) if name in self._tallies else None for name in touched}

    def tally_of(self, name: str) -> list[Any]:
        tally = self._tallies[name]
        counts = [tally.admitted, tally.refused, tally.held_back, tally.passes, tally.barren]
        return [*counts, tally.prints[:], [*tally.words]]

    def _tally(self, name: str) -> _Tally:
        tally = self._tallies.pop(name, None)
        if tally is None:
            tally = _Tally()
            if len(self._tallies) >= self.limits.templates:
                oldest = next(iter(self._tallies))
                del self._tallies[oldest]
                self._touched.add(oldest)
        self._touched.add(name)
        # Put last: the order of the dictionary is the order of use.
        self._tallies[name] = tally
        return tally
