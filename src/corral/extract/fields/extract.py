"""Every field that is asked for, filled from a document."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from corral.domain.fields.spec import FieldSpec, walk
from corral.domain.json_path import TooWide
from corral.domain.runs.completeness.flaws import RULE
from corral.extract.fields.complete import FieldValue, complete, is_nothing
from corral.extract.fields.html_source import HtmlSource
from corral.extract.fields.raw import KnownFacts, RawValue, find_raw, source_name
from corral.extract.fields.source import Source
from corral.extract.names.found import MAX_VALUES
from corral.extract.names.words.text import plain
from corral.extract.page import Page
from corral.extract.types.model import TypeContext

TOO_LONG = "limit:selector"
NO_FACTS = KnownFacts()
# A context entered around each selector of a user, with the index of its field; it may limit the selector's time.
Guard = Callable[[int], AbstractContextManager[None]]
_MAX_SAID = 5
_MANY_ROWS = 2  # a part that more than half of the rows lack is missing


@dataclass(frozen=True, slots=True)
class Extraction:
    record: dict[str, Any]
    missing: tuple[str, ...]
    dropped: dict[str, int] = field(default_factory=dict)  # by field, how many values were one too many
    problems: dict[str, str] = field(default_factory=dict)  # by field, why it was not looked for to the end
    details: dict[str, dict[str, Any]] = field(default_factory=dict)  # by field: see FieldValue.detail
    raw: dict[str, Any] = field(default_factory=dict)


def no_guard(_place: int) -> AbstractContextManager[None]:
    return nullcontext()


def extract_from(  # noqa: PLR0917 - the parts of one reading
    document: Page | Source,
    fields: Sequence[FieldSpec],
    guard: Guard = no_guard,
    skipped: Collection[int] = (),
    facts: KnownFacts = NO_FACTS,
    context: TypeContext | None = None,
) -> Extraction:
    """Every asked field is in the record, None (or an empty list) where it was not found or skipped."""
    source = source_of(document)
    extractor = _Extractor(facts, context or TypeContext(language=source.language))
    has_xpath = any(_has_xpath(spec) for place, spec in enumerate(fields) if place not in skipped)
    unsearchable = has_xpath and not source.can_be_searched()
    problems = {fields[place].name: TOO_LONG for place in sorted(skipped)}
    values: dict[str, FieldValue] = {}
    for place, spec in enumerate(fields):
        if spec.is_code:
            continue
        found = FieldValue([] if spec.all else None)
        if unsearchable and _has_xpath(spec):
            problems[spec.name] = TOO_LONG
        elif place not in skipped:
            with guard(place) if _has_selector(spec) else nullcontext():
                try:
                    found = extractor.fill(source, spec)
                except TooWide:
                    problems[spec.name] = TOO_LONG
        values[spec.name] = found
    return extraction_of(fields, values, problems)


def _has_xpath(spec: FieldSpec) -> bool:
    # Most fields are one recipe, and there are many pages.
    return bool(spec.xpath) or (_is_nested(spec) and any(each.xpath for each in walk([spec])))


def _has_selector(spec: FieldSpec) -> bool:
    if spec.css or spec.xpath or spec.jsonpath or spec.regex:
        return True
    return _is_nested(spec) and any(each.selector or each.regex for each in walk([spec]))


def _is_nested(spec: FieldSpec) -> bool:
    return bool(spec.fields or spec.fallbacks)


def extraction_of(
    fields: Sequence[FieldSpec], values: Mapping[str, FieldValue], problems: Mapping[str, str] | None = None
) -> Extraction:
    record = {name: each.value for name, each in values.items()}
    said = dict(problems or {})
    for name, each in values.items():
        if each.violations:
            said.setdefault(name, RULE + "; ".join(each.violations[:_MAX_SAID]))
        elif each.problems and is_nothing(each.value):
            said.setdefault(name, "; ".join(each.problems[:_MAX_SAID]))
    missing = [path for spec in fields if not spec.optional for path in _missing(spec, record[spec.name])]
    return Extraction(
        record,
        tuple(missing),
        {name: each.dropped for name, each in values.items() if each.dropped},
        said,
        {name: each.detail() for name, each in values.items() if each.source},
        {name: each.raw for name, each in values.items()},
    )


def _missing(spec: FieldSpec, value: Any) -> list[str]:
    """The field, or the parts that its object lacks; of a list of objects, those that more than half of them lack."""
    if is_nothing(value):
        return [spec.name]
    if not spec.fields:
        return []
    rows = value if isinstance(value, list) else [value]
    found = []
    for part in spec.fields:
        if part.optional:
            continue
        lacking = sum(is_nothing(row.get(part.name)) for row in rows)
        if _MANY_ROWS * lacking > len(rows):
            found.append(f"{spec.name}.{part.name}")
    return found


def is_of_links(spec: FieldSpec) -> bool:
    if spec.xpath is not None and spec.xpath.endswith("@href"):
        return True
    return spec.attr == "href" or (spec.selector is None and plain(spec.name) == "links")


def source_of(document: Page | Source) -> Source:
    return HtmlSource(document) if isinstance(document, Page) else document


def fill_from_raw(
    fields: Sequence[FieldSpec], raw: Mapping[str, Any], facts: KnownFacts, context: TypeContext
) -> Extraction:
    """The same record from raw values that are known already, such as those of an API call."""
    extractor = _Extractor(facts, context)
    return extraction_of(fields, {spec.name: extractor.fill_known(spec, raw) for spec in fields})


class _Extractor:
    """Fills fields; what it knows of the page is the same for all of them."""

    def __init__(self, facts: KnownFacts, context: TypeContext) -> None:
        self._facts = facts
        self._context = context

    def fill(self, source: Source, spec: FieldSpec) -> FieldValue:
        """The value of the first recipe that gives one of the right type and within the rules; else of the first."""
        first: FieldValue | None = None
        for recipe in (spec, *spec.fallbacks):
            found = self._fill_by(source, spec, recipe)
            if not is_nothing(found.value) and not found.violations:
                return found
            if first is None or (is_nothing(first.value) and not is_nothing(found.value)):
                first = found
        return first or FieldValue(None)

    def _fill_by(self, source: Source, spec: FieldSpec, recipe: FieldSpec) -> FieldValue:
        if recipe.fields:
            return self._fill_objects(source, recipe)
        ruled = recipe if recipe is spec else replace(recipe, rules=spec.rules)
        return complete(ruled, find_raw(source, recipe, self._facts), self._context)

    def _fill_objects(self, source: Source, spec: FieldSpec) -> FieldValue:
        parts = source.find_parts(spec)
        chosen = parts[:MAX_VALUES] if spec.all else _nth(parts, spec.nth)
        rows = [{part.name: self.fill(each, part) for part in spec.fields} for each in chosen]
        # What has none of the parts is no object: the head of a table, an advertisement between the cards.
        names = [part.name for part in spec.fields if part.depends_on_page]  # a constant is in every row
        kept = [row for row in rows if not all(is_nothing(row[name].value) for name in names)]
        return _objects_value(spec, kept, dropped=max(0, len(parts) - MAX_VALUES) if spec.all else 0)

    def fill_known(self, spec: FieldSpec, raw: Mapping[str, Any]) -> FieldValue:
        if spec.const is not None or spec.page is not None:
            value = spec.const if spec.const is not None else self._facts.values.get(spec.page or "")
            return complete(spec, RawValue(value, "const" if spec.page is None else f"page:{spec.page}"), self._context)
        known = raw.get(spec.name)
        if not spec.fields:
            return complete(spec, RawValue(known, "api"), self._context)
        objects = known if isinstance(known, list) else [known] if isinstance(known, Mapping) else []
        return _objects_value(
            spec, [{part.name: self.fill_known(part, each) for part in spec.fields} for each in objects]
        )


def _nth(parts: Sequence[Source], nth: int | None) -> Sequence[Source]:
    place = 0 if nth is None else nth - 1 if nth > 0 else nth
    return [parts[place]] if -len(parts) <= place < len(parts) else []


def _objects_value(spec: FieldSpec, rows: Sequence[Mapping[str, FieldValue]], dropped: int = 0) -> FieldValue:
    values = [{name: each.value for name, each in row.items()} for row in rows]
    raw = [{name: each.raw for name, each in row.items()} for row in rows]
    confidence = min((each.confidence for row in rows for each in row.values() if each.source), default=0.0)
    cells = [(f"{place}.{name}", each) for place, row in enumerate(rows) for name, each in row.items()]
    problems = tuple(f"{where}:{text}" for where, each in cells for text in each.problems)
    violations = tuple(f"{where}:{text}" for where, each in cells for text in each.violations)
    if spec.all:
        return FieldValue(values, raw, source_name(spec), confidence, problems, violations, dropped)
    if not values:
        return FieldValue(None)
    # Of one object the number of its row says nothing.
    notes = tuple(text.partition(".")[2] for text in problems)
    broken = tuple(text.partition(".")[2] for text in violations)
    return FieldValue(values[0], raw[0], source_name(spec), confidence, notes, broken)
