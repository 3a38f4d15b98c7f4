"""What a person who writes a job wants to know of a page. Made where the page is read, in a process of its own."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.survey import MAX_SNIPPET_CHARS, Survey
from corral.extract.classify.shells import is_application_shell
from corral.extract.fields.extract import Guard, extract_from
from corral.extract.fields.source import Source
from corral.extract.list_page import ListFound, listing_of
from corral.extract.page import Page
from corral.extract.survey.siblings import find_siblings
from corral.extract.survey.suggest import suggestions


@dataclass(frozen=True, slots=True)
class Subject:
    """A document that was read; without a `source` it has no elements, as JSON has none. A `page` is HTML."""

    url: str
    text: str
    source: Source | None
    page: Page | None


def survey_page(
    what: Survey, subject: Subject, fields: Sequence[FieldSpec], guard: Guard, skipped: Collection[int]
) -> dict[str, Any]:
    text, page = subject.text, subject.page
    # Without the fields: their selectors are looked up below, under the guard.
    told: dict[str, Any] = {"url": subject.url, "is_shell": page is not None and is_application_shell(text, ())}
    match what:
        case Survey.PAGE:
            told["snippet"] = text[:MAX_SNIPPET_CHARS]
            told["suggestions"] = suggestions(page) if page is not None else []
            told["siblings"] = find_siblings(page, subject.url) if page is not None else []
        case Survey.MATCHES:
            told["counts"] = [_count(subject.source, spec, place, guard, skipped) for place, spec in enumerate(fields)]
        case Survey.LIST:
            told |= _survey_list(subject, fields, guard, skipped)
    return told


def _count(source: Source | None, spec: FieldSpec, place: int, guard: Guard, skipped: Collection[int]) -> int | None:
    """Elements where a selector says which; else values. None where it cannot be told."""
    if source is None or place in skipped:
        return None
    if spec.selector is not None and spec.regex is None:
        return _elements(source, spec, place, guard)
    every = replace(spec, all=True)
    extraction = extract_from(source, [every], lambda _: guard(place))
    return len(extraction.record[spec.name]) + extraction.dropped.get(spec.name, 0)


def _elements(source: Source, spec: FieldSpec, place: int, guard: Guard) -> int:
    if spec.xpath and not source.can_be_searched():
        return 0
    with guard(place):
        return source.count(spec)


def _survey_list(
    subject: Subject, fields: Sequence[FieldSpec], guard: Guard, skipped: Collection[int]
) -> dict[str, Any]:
    source = subject.source
    if source is None:
        return asdict(listing_of(subject.url, ListFound(0, (), has_pagination=len(fields) > 1)))
    extraction = extract_from(source, fields, guard, skipped)
    record = extraction.record
    links, *following = fields
    found = ListFound(
        elements=0 if 0 in skipped else _elements(source, links, 0, guard),
        links=tuple(source.absolute(link) for link in _values(record[links.name])),
        following=next((source.absolute(url) for each in following for url in _values(record[each.name])), None),
        has_pagination=bool(following),
    )
    return asdict(listing_of(subject.url, found))


def _values(value: Any) -> list[str]:
    """Of a selector that takes one match or all of them."""
    return [each for each in (value if isinstance(value, list) else [value]) if each]
