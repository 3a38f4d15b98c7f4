"""Fill the fields of a job from a document."""

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
_MAX_PROBLEMS = 5
_MANY_ROWS = 2  # a part is missing if more than one row in two lacks it


@dataclass(frozen=True, slots=True)
class Extraction:
    record: dict[str, Any]
    missing: tuple[str, ...]
    dropped: dict[str, int] = field(default_factory=dict)  # by field, how many values were beyond the limit
    problems: dict[str, str] = field(default_factory=dict)  # by field, why its search was cut short
    details: dict[str, dict[str, Any]] = field(default_factory=dict)  # by field: see FieldValue.detail
    raw: dict[str, Any] = field(default_factory=dict)


def no_guard(_index: int) -> AbstractContextManager[None]:
    return nullcontext()


def extract_from(  # noqa: PLR0917 - the parts of one reading
    document: Page | Source,
    fields: Sequence[FieldSpec],
    guard: Guard = no_guard,
    skipped: Collection[int] = (),
    facts: KnownFacts = NO_FACTS,
    context: TypeContext | None = None,
) -> Extraction:
    """Extract all fields; a field that was not found or is skipped is None or an empty list in the record."""
    source = source_of(document)
    extractor = _Extractor(facts, context or TypeContext(language=source.language))
    has_xpath = any(_has_xpath(spec) for index, spec in enumerate(fields) if index not in skipped)
    unsearchable = has_xpath and not source.can_be_searched()
    problems = {fields[index].name: TOO_LONG for index in sorted(skipped)}
    values: dict[str, FieldValue] = {}
    for index, spec in enumerate(fields):
        if spec.is_code:
            continue
        found = FieldValue([] if spec.all else None)
        if unsearchable and _has_xpath(spec):
            problems[spec.name] = TOO_LONG
        elif index not in skipped:
            with guard(index) if _has_selector(spec) else nullcontext():
                try:
                    found = extractor.fill(source, spec)
                except TooWide:
                    problems[spec.name] = TOO_LONG
        values[spec.name] = found
    return extraction_of(fields, values, problems)


def _has_xpath(spec: FieldSpec) -> bool:
    # Check the common case of a single recipe first: this runs for every field of every page.
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
    """Return the extraction of completed values; `problems` take precedence over those of the values."""
    record = {name: found.value for name, found in values.items()}
    all_problems = dict(problems or {})
    for name, found in values.items():
        if found.violations:
            all_problems.setdefault(name, RULE + "; ".join(found.violations[:_MAX_PROBLEMS]))
        elif found.problems and is_nothing(found.value):
            all_problems.setdefault(name, "; ".join(found.problems[:_MAX_PROBLEMS]))
    missing = [path for spec in fields if not spec.optional for path in _missing(spec, record[spec.name])]
    return Extraction(
        record,
        tuple(missing),
        {name: found.dropped for name, found in values.items() if found.dropped},
        all_problems,
        {name: found.detail() for name, found in values.items() if found.source},
        {name: found.raw for name, found in values.items()},
    )


def _missing(spec: FieldSpec, value: Any) -> list[str]:
    """Return the field if it has no value, else the parts that its object, or most objects of its list, lack."""
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
    """Fill the fields from known raw values, such as those of an API call."""
    extractor = _Extractor(facts, context)
    return extraction_of(fields, {spec.name: extractor.fill_known(spec, raw) for spec in fields})


class _Extractor:
    """Fills fields with the facts and the type context of one page."""

    def __init__(self, facts: KnownFacts, context: TypeContext) -> None:
        self._facts = facts
        self._context = context

    def fill(self, source: Source, spec: FieldSpec) -> FieldValue:
        """Return the value of the first recipe that yields a valid one.

        If none does, return the first value that breaks a rule, else the empty result of the first recipe.
        """
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
        rows = [{part.name: self.fill(match, part) for part in spec.fields} for match in chosen]
        # A match without any of the parts is no object: the head of a table, an advertisement between the cards.
        names = [part.name for part in spec.fields if part.depends_on_page]  # a constant is in every row
        objects = [row for row in rows if not all(is_nothing(row[name].value) for name in names)]
        return _objects_value(spec, objects, dropped=max(0, len(parts) - MAX_VALUES) if spec.all else 0)

    def fill_known(self, spec: FieldSpec, raw: Mapping[str, Any]) -> FieldValue:
        if spec.const is not None or spec.page is not None:
            value = spec.const if spec.const is not None else self._facts.values.get(spec.page or "")
            return complete(spec, RawValue(value, "const" if spec.page is None else f"page:{spec.page}"), self._context)
        raw_value = raw.get(spec.name)
        if not spec.fields:
            return complete(spec, RawValue(raw_value, "api"), self._context)
        objects = raw_value if isinstance(raw_value, list) else [raw_value] if isinstance(raw_value, Mapping) else []
        return _objects_value(
            spec, [{part.name: self.fill_known(part, entry) for part in spec.fields} for entry in objects]
        )


def _nth(parts: Sequence[Source], nth: int | None) -> Sequence[Source]:
    index = 0 if nth is None else nth - 1 if nth > 0 else nth
    return [parts[index]] if -len(parts) <= index < len(parts) else []


def _objects_value(spec: FieldSpec, rows: Sequence[Mapping[str, FieldValue]], dropped: int = 0) -> FieldValue:
    values = [{name: cell.value for name, cell in row.items()} for row in rows]
    raw = [{name: cell.raw for name, cell in row.items()} for row in rows]
    confidence = min((cell.confidence for row in rows for cell in row.values() if cell.source), default=0.0)
    cells = [(f"{index}.{name}", cell) for index, row in enumerate(rows) for name, cell in row.items()]
    problems = tuple(f"{path}:{text}" for path, cell in cells for text in cell.problems)
    violations = tuple(f"{path}:{text}" for path, cell in cells for text in cell.violations)
    if spec.all:
        return FieldValue(values, raw, source_name(spec), confidence, problems, violations, dropped)
    if not values:
        return FieldValue(None)
    # A single object needs no row number in its problems.
    notes = tuple(text.partition(".")[2] for text in problems)
    broken = tuple(text.partition(".")[2] for text in violations)
    return FieldValue(values[0], raw[0], source_name(spec), confidence, notes, broken)
