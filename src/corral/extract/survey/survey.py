"""Survey a page for a person who writes a job. The process that reads the page runs it."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from corral.domain.crawl.job_pages import ITEM_LINKS
from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.survey import MAX_SNIPPET_CHARS, Survey
from corral.domain.lists.pagination import PAGINATION
from corral.domain.net.canonical import Link, links_to
from corral.domain.net.url import parse_target
from corral.extract.classify.insertions import script_signs
from corral.extract.classify.shells import is_application_shell
from corral.extract.fields.extract import Guard, extract_from
from corral.extract.fields.source import Source
from corral.extract.list_page import ListFound, listing_of
from corral.extract.page import Page
from corral.extract.survey.clicked import describe_clicked, find_clicked, suggest_for
from corral.extract.survey.images import read_images
from corral.extract.survey.list_proposals import count_in_navigation, propose_item_links, propose_paging
from corral.extract.survey.list_recipes import propose_lists
from corral.extract.survey.siblings import find_siblings
from corral.extract.survey.suggest import suggestions


@dataclass(frozen=True, slots=True)
class Subject:
    """A document that was read. Without elements, as JSON, it has no `source`; only HTML has a `page`."""

    url: str
    text: str
    source: Source | None
    page: Page | None


def survey_page(
    kind: Survey, subject: Subject, fields: Sequence[FieldSpec], guard: Guard, skipped: Collection[int]
) -> dict[str, Any]:
    text, page = subject.text, subject.page
    # Checked without the fields: their selectors run below, under the guard.
    result: dict[str, Any] = {"url": subject.url, "is_shell": page is not None and is_application_shell(text, ())}
    signs = script_signs(page, subject.url) if page is not None and kind is not Survey.IMAGES else None
    result["has_script_content"] = signs is not None and signs.inserts and signs.is_likely
    match kind:
        case Survey.PAGE:
            result["snippet"] = text[:MAX_SNIPPET_CHARS]
            result["suggestions"] = suggestions(page) if page is not None else []
            result["siblings"] = find_siblings(page, subject.url) if page is not None else []
            result["lists"] = propose_lists(page) if page is not None else []
        case Survey.CLICK:
            result |= _survey_click(subject, fields, guard)
        case Survey.MATCHES:
            result["counts"] = [
                _count(subject.source, spec, index, guard, skipped) for index, spec in enumerate(fields)
            ]
        case Survey.IMAGES:
            result |= {"images": None} if page is None else read_images(page)
        case Survey.LIST:
            result |= _survey_list(subject, fields, guard, skipped)
    return result


def _survey_click(subject: Subject, fields: Sequence[FieldSpec], guard: Guard) -> dict[str, Any]:
    page = subject.page
    result: dict[str, Any] = {
        "snippet": subject.text[:MAX_SNIPPET_CHARS],
        "suggestions": [],
        "siblings": [],
        "lists": [],
    }
    if page is None:
        return {**result, "clicked": None}
    with guard(0):
        node = find_clicked(page, fields[0])
    if node is None:
        return {**result, "clicked": None}
    found = {"clicked": describe_clicked(page, node), "suggestions": suggest_for(page, node)}
    return {**result, **found, "siblings": find_siblings(page, subject.url)}


def _count(source: Source | None, spec: FieldSpec, index: int, guard: Guard, skipped: Collection[int]) -> int | None:
    """Return how many elements a selector matches, or how many values a field has; None if unknown."""
    if source is None or index in skipped:
        return None
    if spec.selector is not None and spec.regex is None:
        return _elements(source, spec, index, guard)
    every = replace(spec, all=True)
    extraction = extract_from(source, [every], lambda _: guard(index))
    return len(extraction.record[spec.name]) + extraction.dropped.get(spec.name, 0)


def _elements(source: Source, spec: FieldSpec, index: int, guard: Guard) -> int:
    if spec.xpath and not source.can_be_searched():
        return 0
    with guard(index):
        return source.count(spec)


def _survey_list(
    subject: Subject, fields: Sequence[FieldSpec], guard: Guard, skipped: Collection[int]
) -> dict[str, Any]:
    """Return the links that the selectors find, and proposals; item links are proposed only without a selector."""
    source, page = subject.source, subject.page
    links = next((spec for spec in fields if spec.name == ITEM_LINKS), None)
    has_pagination = any(spec.name == PAGINATION for spec in fields)
    record = extract_from(source, fields, guard, skipped).record if source is not None else {}
    found = ListFound(
        elements=0 if source is None or links is None or 0 in skipped else _elements(source, links, 0, guard),
        links=_absolute(source, record.get(ITEM_LINKS)),
        following=next(iter(_absolute(source, record.get(PAGINATION))), None),
        has_pagination=has_pagination,
    )
    if page is None:
        return {**asdict(listing_of(subject.url, found)), "proposals": [], "paging": []}
    proposals = propose_item_links(page, subject.url) if links is None else []
    if proposals:
        found = ListFound(proposals[0]["count"], proposals[0]["samples"], found.following, has_pagination)
    listed = asdict(listing_of(subject.url, found))
    if links is not None and 0 not in skipped:
        with guard(0):
            listed["warnings"] += _warn_of_navigation(page, links)
    keys = frozenset(link.key for link in _links(subject.url, found.links))
    return {**listed, "proposals": proposals, "paging": propose_paging(page, subject.url, keys)}


def _warn_of_navigation(page: Page, links: FieldSpec) -> tuple[str, ...]:
    if links.css is None:
        return ()
    matched, in_navigation = count_in_navigation(page, links.css)
    if not in_navigation:
        return ()
    return (f"item_links matches the navigation of the page: {in_navigation} of {matched} elements are in it",)


def _absolute(source: Source | None, value: Any) -> tuple[str, ...]:
    return () if source is None else tuple(source.absolute(each) for each in _values(value))


def _links(url: str, references: Sequence[str]) -> Iterator[Link]:
    try:
        base = parse_target(url)
    except BadInput:
        return
    yield from (link for link in links_to(base, references) if link is not None)


def _values(value: Any) -> list[str]:
    """Return the values of a selector that takes one match or all of them, without empty ones."""
    return [entry for entry in (value if isinstance(value, list) else [value]) if entry]
