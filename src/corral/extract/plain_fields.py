"""Fields filled from documents without elements: JSON, and plain text."""

import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.jobs.job import FieldSpec
from corral.domain.json_path import TooWide, parse_query, select
from corral.extract.fields import TOO_LONG, Extraction, Guard, missing_in, search_values
from corral.extract.names.found import MAX_VALUES
from corral.extract.names.words.text import plain
from corral.extract.selectors.patterns import search_text
from corral.extract.value_limit import capture_limit
from corral.extract.values import storable


def from_json(text: str, fields: tuple[FieldSpec, ...], guard: Guard, skipped: Collection[int]) -> Extraction:
    """Paths lead anywhere; bare names are looked up among the keys of the outermost object."""
    try:
        document = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        document = None
    keys = {plain(key): value for key, value in document.items()} if isinstance(document, dict) else {}
    dropped: dict[str, int] = {}

    def by_path(spec: FieldSpec) -> list[Any]:
        found = [value for value in _select(document, spec.jsonpath or "") if value is not None]
        if spec.all and not spec.regex and len(found) > MAX_VALUES:
            dropped[spec.name] = len(found) - MAX_VALUES
        return [storable(value) for value in search_values(iter(found), spec)]

    def bare(spec: FieldSpec) -> Any:
        return storable(keys.get(plain(spec.name)))

    extraction = _fill(text, fields, guard, skipped, bare, by_path)
    return Extraction(extraction.record, extraction.missing, dropped, extraction.problems)


def from_text(text: str, fields: tuple[FieldSpec, ...], guard: Guard, skipped: Collection[int]) -> Extraction:
    """A plain text has no fields but itself."""
    whole = text[: capture_limit()].strip()

    def bare(spec: FieldSpec) -> Any:
        return whole if plain(spec.name) in ("text", "content", "body") else None

    return _fill(text, fields, guard, skipped, bare, lambda _: [])


def _fill(  # noqa: PLR0917 - the parts of one reading
    text: str,
    fields: tuple[FieldSpec, ...],
    guard: Guard,
    skipped: Collection[int],
    bare: Callable[[FieldSpec], Any],
    by_path: Callable[[FieldSpec], list[Any]],
) -> Extraction:
    record: dict[str, Any] = {}
    problems = {fields[place].name: TOO_LONG for place in sorted(skipped)}
    for place, spec in enumerate(fields):
        if not spec.selector and not spec.regex:
            record[spec.name] = bare(spec)
            continue
        values: list[Any] = []
        if place not in skipped and not spec.css and not spec.xpath:
            with guard(place):
                try:
                    values = by_path(spec) if spec.jsonpath else search_text(spec.regex or "", text[: capture_limit()])
                except TooWide:
                    problems[spec.name] = TOO_LONG
        record[spec.name] = values if spec.all else next(iter(values), None)
    return Extraction(record, missing_in(record), problems=problems)


def _select(document: Any, path: str) -> Iterator[Any]:
    try:
        query = parse_query(path, field="fields")
    except BadInput:  # refused when the job is written
        return
    yield from select(document, query)
