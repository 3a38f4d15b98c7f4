"""Inspect the scripts of crawled pages, and remember which of them add content."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from corral.domain.crawl.crawl import LISTING, META_REFRESH, SCRIPTS, UNCHECKED, ItemState
from corral.domain.crawl.item import ItemResult, PageSignals
from corral.domain.crawl.script_samples import ScriptSamples
from corral.domain.crawl.script_signs import ScriptFacts, ScriptSigns
from corral.extract.classify.insertions import read_script

_MAX_SCRIPTS = 20  # script files inspected per worker
_MAX_LOCKS = 1_000
_MAX_TEMPLATES = 10_000
_MAX_GAINLESS = 3  # pages that gain nothing before others are no longer rendered for it
_ADDS_CONTENT = "its scripts add content, and they were not run; --strategy auto or browser runs them"
_MAY_ADD_CONTENT = "its scripts could add content, and they were not run"

LoadScript = Callable[[str], Awaitable[str]]


@dataclass(slots=True, eq=False)
class ScriptCheck:
    """What one worker has learned about the scripts of a crawl: samples, script files, and the effect of scrolling."""

    samples: ScriptSamples = field(default_factory=ScriptSamples)
    files: dict[str, ScriptFacts] = field(default_factory=dict)
    gainless: "Counter[str]" = field(default_factory=Counter)  # by template: pages that gained nothing from scrolling
    gaining: dict[str, None] = field(default_factory=dict)  # templates with a page that gained something
    locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    def lock(self, name: str) -> asyncio.Lock:
        """Return the lock of a script file, or of a group of pages that wait for the verdict of a sample."""
        while len(self.locks) >= _MAX_LOCKS and not (oldest := next(iter(self.locks.items())))[1].locked():
            del self.locks[oldest[0]]
        return self.locks.setdefault(name, asyncio.Lock())

    async def may_load_more(self, signals: PageSignals, template: str, load: LoadScript) -> bool:
        """True if scripts may load more, and rendering has not failed too often to add anything for this template."""
        if self.is_gainless(template):
            return False
        if signals.loads_more:
            return True
        if self.gainless.total() >= _MAX_GAINLESS:
            return False
        for url in signals.scripts:
            if (await self._inspect(url, load)).loads_more:
                return True
        return False

    def is_gainless(self, template: str) -> bool:
        return self.gainless[template] >= _MAX_GAINLESS

    def note_scrolling(self, template: str, *, is_gain: bool) -> None:
        """Count a page that was rendered and scrolled."""
        if not is_gain:
            self.gainless[template] += 1
            return
        self.gaining[template] = None
        while len(self.gaining) > _MAX_TEMPLATES:
            del self.gaining[next(iter(self.gaining))]

    async def may_insert(self, signals: PageSignals, signs: ScriptSigns, load: LoadScript) -> tuple[bool, bool]:
        """Return whether scripts of the page could add content, and whether they probably do."""
        if signs.is_likely and signs.inserts:
            return True, True
        inserts, names = signs.inserts, set[str]()
        for url in signals.own_scripts:
            facts = await self._inspect(url, load)
            inserts, names = inserts or facts.inserts, names | facts.names
        return inserts, inserts and (signs.is_likely or not names.isdisjoint(signs.gaps))

    async def _inspect(self, url: str, load: LoadScript) -> ScriptFacts:
        async with self.lock(url):  # pages that are fetched together have the same files
            facts = self.files.get(url)
            if facts is None and len(self.files) < _MAX_SCRIPTS:
                facts = self.files[url] = read_script(await load(url))
        return ScriptFacts(inserts=True) if facts is None else facts


def is_checked(result: ItemResult) -> bool:
    """True for a page with content that scripts could add to."""
    return result.state in (ItemState.DONE, ItemState.SKIPPED) and result.reason != META_REFRESH


def report_unrun(result: ItemResult, why: str = "", *, is_likely: bool) -> ItemResult:
    """Name the scripts that were not run as the reason, unless the page has another one."""
    if result.reason not in (None, LISTING):
        return result
    reason, message = (SCRIPTS, _ADDS_CONTENT) if is_likely else (UNCHECKED, _MAY_ADD_CONTENT)
    return result._replace(reason=reason, message=f"{message}: {why}"[:500] if why else message)
