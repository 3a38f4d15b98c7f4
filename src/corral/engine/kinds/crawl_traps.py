"""How a worker keeps a crawl out of what never ends: links are let in, pages held and seen by their templates.

What it has learned is told to the store with the pages it was learned from, a few times a second; what is lost with
a worker is learned again.
"""

import time
from collections import Counter
from typing import Any

from corral.domain.crawl import ItemState
from corral.domain.fingerprint import PrintMemory
from corral.domain.item import PAGE, Ended, Found, Item, Seen
from corral.domain.share import place_of_template
from corral.domain.traps import TemplateBudget, Trap, names_of, template_of

_TELL_EVERY_S = 0.5
# So many come back at once, the last held first: near to what has just proved its worth, and enough to see.
_BATCH = 25


class CrawlTraps:
    def __init__(self) -> None:
        self._budget = TemplateBudget()
        self._prints = PrintMemory()
        self._holding: dict[tuple[Trap, str], None] = {}  # what addresses are held back by
        self._lifts: dict[tuple[Trap, str], None] = {}  # those of which some are to come back
        self._back: Counter[str] = Counter()  # by name, how many came back and have not been looked at
        self._asked: list[tuple[Trap, str, int]] = []
        self._begins = True
        self._told_at = 0.0

    def let_in(self, found: Found) -> Found:
        """A new address, as it is or with the rule that keeps it out."""
        if found.reason is not None or found.kind != PAGE:
            return found
        template = template_of(found.url)
        trap = self._budget.admit(template)
        return found if trap is None else found._replace(reason=trap, message=self._held_by(template, trap))

    def held(self, item: Item) -> Ended | None:
        """The end of an item that is not worth fetching any more, though it seemed so when it was found."""
        if item.depth == 0 or item.attempt > 1 or item.kind != PAGE:
            return None
        template = template_of(item.url)
        trap = self._budget.hold(template)
        if trap is None:
            return None
        self._looked_at(template)
        return Ended(item.id, item.key, ItemState.SKIPPED, trap, self._held_by(template, trap))

    def _held_by(self, template: str, trap: Trap) -> str:
        name = self._budget.behind(template, trap)
        self._holding[trap, name] = None
        return name

    def saw(self, item: Item, seen: Seen, found: tuple[Found, ...]) -> None:
        """A page that was read, with the new addresses it led to."""
        if seen.print is None or item.kind != PAGE:
            return
        template = template_of(item.url)
        led_to = {template_of(each.url) for each in found if each.reason is None}
        is_again = self._prints.has(seen.print)
        self._budget.observe(template, seen.print, words=seen.words, led_to=led_to, is_again=is_again)
        self._looked_at(template)
        for name in names_of(template) if self._holding else ():
            for trap in (Trap.NO_NEW_CONTENT, Trap.QUERY_VARIANTS):
                if (trap, name) in self._holding and self._budget.is_worth(name):
                    self._lifts[trap, name] = None

    def _looked_at(self, template: str) -> None:
        for name in names_of(template) if self._back else ():
            if self._back[name] <= 1:
                del self._back[name]
            else:
                self._back[name] -= 1

    def told(self, *, is_idle: bool) -> dict[str, Any] | None:
        """For the next step, where there is something to tell."""
        if is_idle:
            self._back.clear()
            self._lifts |= dict.fromkeys(each for each in self._holding if self._room(*each))
        is_due = time.monotonic() - self._told_at >= _TELL_EVERY_S
        if not (self._lifts or self._begins or is_due):
            return None
        self._told_at = time.monotonic()
        lifts, self._lifts = self._lifts, {}
        self._asked = [(*each, room) for each in lifts if (room := self._room(*each))]
        asked = [list(each) for each in self._asked]
        return {"begins": self._begins, "tallies": self._budget.changes(), "lifts": asked}

    @property
    def has_more(self) -> bool:
        """What is held back by something that is not barren any more: it is not over yet."""
        return any(self._room(*each) for each in self._holding)

    def _room(self, trap: Trap, name: str) -> int:
        if trap is Trap.QUERY_VARIANTS:
            return self._budget.room_for(name)
        # The next ones when it is known what the last ones were worth.
        return 0 if self._budget.is_starved(name) or self._back[name] else _BATCH

    def answered(self, answer: dict[str, Any]) -> None:
        for (trap, name, limit), count in zip(self._asked, answer["lifted"], strict=True):
            self._back[name] += count
            if count < limit:
                self._holding.pop((trap, name), None)
            if trap is Trap.QUERY_VARIANTS:
                self._budget.came_back(name, count, is_all=count < limit)
        self._asked = []
        if self._begins:
            self._begins = False
            self._budget = TemplateBudget.of(answer)
            self._holding = {(Trap(reason), name): None for reason, name in answer["held"]}
        if (known := answer.get("come")) is not None:
            self._budget.take_over(known)
            self._holding |= {(Trap(reason), name): None for reason, name in known["held"]}
        if gone := answer.get("gone"):
            self._forget(set(gone))

    def _forget(self, places: set[str]) -> None:
        """They are with another worker now, who knows better from now on."""
        self._budget.forget(places)
        self._holding = {key: None for key in self._holding if place_of_template(key[1]) not in places}
        self._lifts = {key: None for key in self._lifts if place_of_template(key[1]) not in places}
        self._back = Counter(
            {name: count for name, count in self._back.items() if place_of_template(name) not in places}
        )
