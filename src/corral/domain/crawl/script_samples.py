"""Learn whether scripts add content to the pages of a crawl, from a few pages that are read with and without scripts.

The text of a script does not prove what it adds. A page whose scripts could add content is a *sample*: it is read over
HTTP and in the browser, and the two results are compared. The verdict applies to its template. Pages with the same
scripts share samples, so that a site with a template for every page needs few of them.
"""

import json
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from corral.domain.crawl.item import ItemResult
from corral.domain.crawl.script_signs import ScriptSigns

_MAX_TEMPLATES = 10_000
_MAX_KNOWN = 50_000
_TOKENS = 6  # words of new text that are content; a year, a button or a counter has fewer
_MAX_BLOCKS = 400
_NEAR = 0.6
_LONG = 15
_LOST = 0.5
# Fields about the visit instead of the content; `text` is the beginning of `full_text`.
_ABOUT = frozenset({"url", "text", "depth", "http_status", "source", "timestamp", "cut", "outlinks", "change"}) | {
    *("word_count", "char_count", "retry_attempt", "scrape_duration"),
}
_OWN = frozenset({"title", "full_text"})  # of every record
_TOKEN = re.compile(r"\w+")
_LINE_NUMBER = re.compile(r"\d{1,5}")


@dataclass(frozen=True, slots=True)
class Insertion:
    """The content of the rendered page that the plain answer lacks."""

    links: frozenset[str] = frozenset()
    blocks: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()  # requested fields with more values

    @property
    def texts(self) -> frozenset[str]:
        return self.links | self.blocks

    @property
    def is_content(self) -> bool:
        return bool(self.links or self.fields) or sum(len(_TOKEN.findall(each)) for each in self.blocks) >= _TOKENS

    def without(self, known: set[str]) -> "Insertion":
        return Insertion(self.links - known, self.blocks - known, self.fields)


class SampleVerdict(NamedTuple):
    has_more: bool  # the rendered page has content that the plain answer lacks
    missed: int = 0  # pages of its group that were read over HTTP before, and may lack such content


@dataclass(frozen=True, slots=True)
class SampleLimits:
    samples: int = 2  # pages of a template that gain nothing, before it is read over HTTP
    templates: int = 6  # templates with the same scripts that gain nothing
    vain: int = 40  # samples of one worker that gain nothing
    checks: frozenset[int] = frozenset({10, 100, 1_000, 10_000})  # pages that are sampled again


@dataclass(slots=True)
class _Template:
    pages: int = 0
    samples: int = 0
    quiet: int = 0  # samples in a row that gained nothing
    gains: int = 0  # samples in a row that gained
    plain: int = 0  # pages read over HTTP since its first sample


@dataclass(slots=True)
class _Signature:
    sampled: int = 0  # templates that are being sampled, or gained nothing
    passed: int = 0  # templates that were not sampled


@dataclass(slots=True)
class ScriptSamples:
    limits: SampleLimits = SampleLimits()
    vain: int = 0
    _templates: "OrderedDict[str, _Template]" = field(default_factory=OrderedDict)
    _signatures: "OrderedDict[str, _Signature]" = field(default_factory=OrderedDict)
    _known: dict[tuple[str, str], None] = field(default_factory=dict)  # by signature: content that scripts added before

    def adds_content(self, template: str) -> bool:
        """True if the last sample of a template gained something."""
        counts = self._templates.get(template)
        return counts is not None and counts.gains > 0

    def is_unchecked(self, template: str) -> bool:
        """True if a template has no sample, because too many samples gained nothing."""
        counts = self._templates.get(template)
        return self.vain >= self.limits.vain and (counts is None or not counts.samples)

    def wants(self, template: str, signs: ScriptSigns, *, is_likely: bool) -> bool:
        """Count a page whose scripts could add content; return whether it is a sample."""
        counts = self._template(template)
        counts.pages += 1
        is_wanted = self._is_sample(counts, signs, is_likely=is_likely)
        if is_wanted:
            counts.samples += 1
        elif counts.samples:
            counts.plain += 1
        return is_wanted

    def note(self, template: str, signs: ScriptSigns, insertion: Insertion) -> "SampleVerdict":
        """Count what a sample gained.

        A banner or a menu that scripts add to every page is content of the first one only: the others gain nothing.
        """
        counts = self._template(template)
        new = insertion.without({each for each in insertion.texts if (signs.signature, each) in self._known})
        self._known.update(dict.fromkeys((signs.signature, each) for each in new.texts))
        while len(self._known) > _MAX_KNOWN:
            del self._known[next(iter(self._known))]
        if not new.is_content:
            self.vain += 1
            counts.quiet += 1
            counts.gains = 0
            return SampleVerdict(insertion.is_content)
        self._signature(signs.signature).sampled -= 1
        missed, counts.plain = counts.plain, 0
        counts.quiet = 0
        counts.gains += 1
        return SampleVerdict(True, missed)

    def note_failure(self) -> None:
        """Count a sample that the browser could not read."""
        self.vain += 1

    def _is_sample(self, counts: _Template, signs: ScriptSigns, *, is_likely: bool) -> bool:
        limits = self.limits
        if counts.gains:
            return True
        if self.vain >= limits.vain:
            return False
        if not counts.samples:
            return self._is_first(signs, is_likely=is_likely)
        if counts.quiet < limits.samples and self._signature(signs.signature).sampled <= limits.templates:
            return True
        return counts.pages in limits.checks

    def _is_first(self, signs: ScriptSigns, *, is_likely: bool) -> bool:
        """Return whether the first page of a template is a sample: not if enough pages had the same scripts."""
        shared = self._signature(signs.signature)
        if is_likely or shared.sampled < self.limits.templates:
            shared.sampled += 1
            return True
        shared.passed += 1
        return shared.passed in self.limits.checks

    def _template(self, template: str) -> _Template:
        counts = self._templates.setdefault(template, _Template())
        while len(self._templates) > _MAX_TEMPLATES:
            self._templates.popitem(last=False)
        return counts

    def _signature(self, signature: str) -> _Signature:
        counts = self._signatures.setdefault(signature, _Signature())
        while len(self._signatures) > _MAX_TEMPLATES:
            self._signatures.popitem(last=False)
        return counts


def compare(rendered: ItemResult, fetched: ItemResult) -> Insertion:
    """Return what only the rendered page has: links to follow, values of fields, and text.

    Text is compared by blocks. A block that the plain page contains, or that hardly differs from a block that has
    disappeared, is not new: scripts build tables of contents, typeset formulas and number the lines of code.
    """
    had = {link.key for link in fetched.found}
    links = frozenset(f"link {link.key}" for link in rendered.found if link.key not in had and link.reason is None)
    documents = _document(fetched.record), _document(rendered.record)
    before, after = (_blocks(document) for document in documents)
    if sum(map(len, after)) < _LOST * sum(map(len, before)):
        return Insertion(links)  # the scripts removed most of the page
    return Insertion(links, _find_fresh(before, after), _find_fuller(*documents))


def unite(rendered: ItemResult, fetched: ItemResult) -> ItemResult:
    """Return the rendered page with the links that only the plain answer has: scripts remove links, too."""
    has = {link.key for link in rendered.found}
    found = (*rendered.found, *(link for link in fetched.found if link.key not in has))
    lacks_record = rendered.record is None and fetched.record is not None
    return (fetched if lacks_record else rendered)._replace(found=found)


def _find_fresh(before: list[str], after: list[str]) -> frozenset[str]:
    lines, whole, rendered = frozenset(before), "\n".join(before), frozenset(after)
    gone = [frozenset(_TOKEN.findall(each)) for each in before if each not in rendered]
    fresh = []
    for block in after:
        if block in lines or (len(block) >= _LONG and block in whole) or _LINE_NUMBER.fullmatch(block):
            continue
        tokens = frozenset(_TOKEN.findall(block))
        near = next((each for each in gone if len(tokens & each) > _NEAR * len(tokens)), None)
        if near is not None:
            gone.remove(near)
        elif tokens:
            fresh.append(block)
        if len(fresh) >= _MAX_BLOCKS:
            break
    return frozenset(fresh)


def _find_fuller(before: dict[str, Any], after: dict[str, Any]) -> frozenset[str]:
    """Return the requested fields with more values than before."""
    names = (name for name in after if name not in _ABOUT and name not in _OWN)
    return frozenset(name for name in names if _count_values(after[name]) > _count_values(before.get(name)))


def _count_values(value: object) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return sum(_count_values(each) for each in value)
    return int(value not in (None, ""))


def _document(record: object) -> dict[str, Any]:
    document = json.loads(record) if isinstance(record, str) else record
    return document if isinstance(document, dict) else {}


def _blocks(document: dict[str, Any]) -> list[str]:
    """Return the texts of a record, one for each line."""
    blocks: list[str] = []
    for name, value in document.items():
        if name not in _ABOUT:
            _collect(value, blocks)
    return blocks


def _collect(value: object, blocks: list[str]) -> None:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            _collect(each, blocks)
    elif value is not None:
        blocks += [" ".join(line.split()).lower() for line in str(value).splitlines() if line.strip()]
