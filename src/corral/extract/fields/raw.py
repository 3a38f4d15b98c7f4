"""Find the raw value of a field: what one recipe selects, as the document has it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from corral.domain.fields.spec import FieldSpec
from corral.domain.json_path import display_text
from corral.extract.fields.source import Source
from corral.extract.names.found import EVERY, MAX_VALUES, FoundValue
from corral.extract.names.words.text import plain
from corral.extract.selectors.patterns import search_text

_CERTAIN = 1.0  # the user wrote the selector


@dataclass(frozen=True, slots=True)
class RawValue:
    """A value with the source where it was found; `dropped` counts the values beyond the limit."""

    value: Any
    source: str
    confidence: float = _CERTAIN
    dropped: int = 0


NOTHING = RawValue(None, "", 0.0)


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """What is known about a page before it is read."""

    values: Mapping[str, Any] = field(default_factory=dict)  # see PAGE_FACTS of domain.fields.spec


def page_facts(url: str, requested_url: str, status: int | None, now: datetime) -> KnownFacts:
    time = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return KnownFacts({"url": url, "requested_url": requested_url, "status": status, "time": time})


def find_raw(source: Source, spec: FieldSpec, facts: KnownFacts) -> RawValue:
    """Return what the field's own recipe finds, without its fallbacks. Not for fields that are objects."""
    if spec.const is not None:
        return RawValue(spec.const, "const")
    if spec.page is not None:
        return RawValue(facts.values.get(spec.page), f"page:{spec.page}")
    if spec.is_bare:
        return _by_name(source, spec)
    limit = MAX_VALUES + 1 if spec.takes_all else 1
    values = search_values(source.find_values(spec), spec.regex, limit)
    dropped = 0
    if spec.all and len(values) > MAX_VALUES:
        dropped = max(1, (0 if spec.regex else source.count(spec)) - MAX_VALUES)
    return RawValue(_pick(values, spec), source_name(spec), dropped=dropped)


def _by_name(source: Source, spec: FieldSpec) -> RawValue:
    name = spec.bare or spec.name
    if not spec.takes_all:
        best = source.find_one(name)
        return NOTHING if best is None else RawValue(best.value, best.source, best.confidence)
    found: Sequence[FoundValue] = source.find(name)
    values: list[Any] = [entry.value for entry in found]
    if len(values) == 1 and isinstance(values[0], list):
        values = values[0]  # a JSON document has the list under one key
    picked = _pick(values, spec)
    dropped = 0
    if spec.all and len(values) >= MAX_VALUES and plain(name) in EVERY:
        dropped = max(0, source.count(spec) - MAX_VALUES)
    if not found:
        return RawValue(picked, "", 0.0)
    chosen = next((entry for entry in found if entry.value is picked), found[0])
    return RawValue(picked, chosen.source, chosen.confidence, dropped)


def search_values(found: Iterator[Any], regex: str | None, limit: int) -> list[Any]:
    """Return the found values, or the matches of the pattern in them, up to the limit."""
    if not regex:
        return list(islice(found, limit))
    values: list[Any] = []
    for value in found:
        text = value if isinstance(value, str) else display_text(value) or ""
        values += search_text(regex, text, limit)
        if len(values) >= limit:
            break
    return values


def _pick(values: list[Any], spec: FieldSpec) -> Any:
    if spec.all:
        return values[:MAX_VALUES]
    if spec.join is not None:
        return spec.join.join(filter(None, map(display_text, values[:MAX_VALUES]))) or None
    index = 0 if spec.nth is None else spec.nth - 1 if spec.nth > 0 else spec.nth
    return values[index] if -len(values) <= index < len(values) else None


def source_name(spec: FieldSpec) -> str:
    """Return the recipe as one line."""
    for kind in ("css", "xpath", "jsonpath"):
        if getattr(spec, kind):
            return f"{kind}:{getattr(spec, kind)}{f'@{spec.attr}' if spec.attr else ''}"
    return f"regex:{spec.regex}" if spec.regex else f"attr:{spec.attr}" if spec.attr else "text"
