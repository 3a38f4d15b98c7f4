"""Fields filled from a document: by recipe where there is one, else from what the document says about itself."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from corral.domain.jobs.job import FieldSpec
from corral.domain.json_path import display_text
from corral.extract.names.found import EVERY, MAX_TRIED, MAX_VALUES, FoundValue
from corral.extract.names.words.text import plain
from corral.extract.page import Page
from corral.extract.selectors.patterns import search_text

if TYPE_CHECKING:
    from corral.extract.names.named_values import NamedValues
    from corral.extract.xml.elements import Elements

TOO_LONG = "limit:selector"
# A context entered around each selector of a user, with the index of its field; it may limit the selector's time.
Guard = Callable[[int], AbstractContextManager[None]]


class MarkupSource(Protocol):
    """A document with elements, which fields are looked for in."""

    def values(self, name: str) -> list[str]:
        """What it says about itself under this name."""
        ...

    def single(self, name: str) -> list[str]:
        """The value of a field that takes one, if there is any: several authors are one text."""
        ...

    def find_values(self, spec: FieldSpec) -> Iterator[Any]:
        """What is where the recipe says to look; without a selector, the text of the document."""
        ...

    def count(self, spec: FieldSpec) -> int:
        """How many elements, or values, its selector matches."""
        ...

    def absolute(self, reference: str) -> str: ...

    def can_be_searched(self) -> bool:
        """Whether it has a tree for XPath. Made at the first time: it is the document's time, not that of a field."""
        ...


@dataclass(frozen=True, slots=True)
class Extraction:
    record: dict[str, Any]
    missing: tuple[str, ...]
    dropped: dict[str, int] = field(default_factory=dict)  # by field, how many values were one too many
    problems: dict[str, str] = field(default_factory=dict)  # by field, why it was not looked for to the end


def no_guard(_place: int) -> AbstractContextManager[None]:
    return nullcontext()


def extract_from(
    document: Page | MarkupSource, fields: Sequence[FieldSpec], guard: Guard = no_guard, skipped: Collection[int] = ()
) -> Extraction:
    """Every asked field is in the record, None (or an empty list) where it was not found or skipped."""
    source = source_of(document)
    has_xpath = any(spec.xpath for place, spec in enumerate(fields) if place not in skipped)
    unsearchable = has_xpath and not source.can_be_searched()
    record: dict[str, Any] = {}
    dropped: dict[str, int] = {}
    problems = {fields[place].name: TOO_LONG for place in sorted(skipped)}
    for place, spec in enumerate(fields):
        values: list[Any] = []
        if spec.xpath and unsearchable:
            problems[spec.name] = TOO_LONG
        elif place in skipped or spec.jsonpath:
            pass
        elif not spec.selector and not spec.regex:
            values = list(source.values(spec.name)) if spec.all else source.single(spec.name)
        else:
            with guard(place):
                values = _by_recipe(source, spec)
        if spec.all:
            record[spec.name] = values[:MAX_VALUES]
            if len(values) >= MAX_VALUES and (more := _more_than_kept(source, spec)):
                dropped[spec.name] = more
        else:
            record[spec.name] = values[0] if values else None
    return Extraction(record, missing_in(record), dropped, problems)


def missing_in(record: dict[str, Any]) -> tuple[str, ...]:
    return tuple(name for name, value in record.items() if is_nothing(value))


def is_nothing(value: Any) -> bool:
    """Zero and false are something."""
    return value is None or (isinstance(value, str | list | dict) and not value)


def is_of_links(spec: FieldSpec) -> bool:
    if spec.xpath is not None and spec.xpath.endswith("@href"):
        return True
    return spec.attr == "href" or (spec.selector is None and plain(spec.name) == "links")


def source_of(document: Page | MarkupSource) -> MarkupSource:
    return HtmlSource(document) if isinstance(document, Page) else document


def search_values(found: Iterator[Any], spec: FieldSpec) -> list[Any]:
    """What was found, or what its pattern finds in it: the first value, or as many as are kept."""
    values: list[Any] = []
    limit = MAX_VALUES if spec.all else 1
    for each in found:
        text = each if isinstance(each, str) else display_text(each) or ""
        values += search_text(spec.regex, text, limit) if spec.regex else [each]
        if len(values) >= limit:
            break
    return values


def _more_than_kept(source: MarkupSource, spec: FieldSpec) -> int:
    """Elements beyond those that were taken, counted and not looked at."""
    if spec.regex or (spec.selector is None and plain(spec.name) not in EVERY):
        return 0
    return max(0, source.count(spec) - MAX_VALUES)


def _by_recipe(source: MarkupSource, spec: FieldSpec) -> list[Any]:
    return search_values(source.find_values(spec), spec)


class HtmlSource:
    def __init__(self, page: Page) -> None:
        self._page = page

    @cached_property
    def _named(self) -> "NamedValues":
        from corral.extract.names.named_values import NamedValues  # noqa: PLC0415 - many jobs have selectors only

        return NamedValues(self._page)

    def values(self, name: str) -> list[str]:
        return [each.value for each in self._named.find(name)]

    def find(self, name: str) -> tuple[FoundValue, ...]:
        """What the page gives for a bare name, best first, with source and confidence."""
        return self._named.find(name)

    def find_one(self, name: str) -> FoundValue | None:
        """The same for a field without `all`: several authors are one text."""
        return self._named.find_one(name)

    def single(self, name: str) -> list[str]:
        found = self._named.find_one(name)
        return [found.value] if found is not None else []

    def find_values(self, spec: FieldSpec) -> Iterator[Any]:
        if spec.xpath is not None:
            attr = spec.attr.lower() if spec.attr else None
            matches = self._by_xpath(spec.xpath)
            if self._elements is not None:
                yield from self._elements.values(matches if spec.all else matches[:MAX_TRIED], attr, self.absolute)
        elif spec.css is None:
            yield self._page.body_text
        else:
            nodes = self._page.by_css(spec.css)
            for node in nodes if spec.all else nodes[:MAX_TRIED]:
                value = self._page.value_of(node, spec.attr)
                if value:
                    yield value

    def count(self, spec: FieldSpec) -> int:
        if spec.xpath is not None:
            return len(self._by_xpath(spec.xpath))
        if spec.jsonpath is not None:
            return 0
        css = spec.css or EVERY.get(plain(spec.name))
        return len(self._page.by_css(css)) if css else 0

    def absolute(self, reference: str) -> str:
        return self._page.absolute(reference)

    def can_be_searched(self) -> bool:
        return self._elements is not None

    def _by_xpath(self, expression: str) -> list[Any]:
        return [] if self._elements is None else self._elements.by_xpath(expression)

    @cached_property
    def _elements(self) -> "Elements | None":
        from corral.extract.xml.elements import TooMuch, html_elements  # noqa: PLC0415 - most pages do without lxml

        root = self._page.tree.root
        try:
            return html_elements((root.html if root is not None else "") or "")
        except TooMuch:
            return None
