"""A page as it arrived, read: decoded, parsed, its fields extracted, judged. The same for every executor.

It is pure and takes all it needs as values, so that it can be done in a process of its own.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import orjson
from selectolax.lexbor import SelectolaxError

from corral.domain.job import FieldSpec
from corral.domain.outcome import Failed, FailureCode
from corral.extract.charset import decode
from corral.extract.crawling import CrawlAsk, crawled
from corral.extract.fields import Extraction, Guard, extract_from, is_of_links, unguarded
from corral.extract.page import MAX_VALUE_CHARS, Page, is_too_deep
from corral.extract.patterns import searched
from corral.extract.spa import is_application_shell
from corral.extract.structured import plain
from corral.extract.survey import Subject, Survey, surveyed
from corral.extract.values import storable
from corral.extract.verdict import Answer, failure_behind, merged

TOO_DEEP = "it is nested too deeply"
_MARKUP = ("html", "xml")
_MAX_TITLE_CHARS = 500


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What came back, and what is asked of it. `looks_only` asks for nothing but whether it is an empty shell."""

    body: bytes
    url: str
    asked_url: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    fields: tuple[FieldSpec, ...] = ()
    is_judged: bool = True
    looks_only: bool = False
    survey: Survey | None = None  # asked for instead of the record, by a person who writes a job
    crawl: CrawlAsk | None = None  # asked for beside the record

    @property
    def content_type(self) -> str:
        return next((value for name, value in self.headers if name.lower() == "content-type"), "")

    def packed(self) -> bytes:
        """Everything but the body, which travels as it is."""
        asks = (self.is_judged, self.looks_only, self.survey, self.crawl)
        return orjson.dumps((self.url, self.asked_url, self.status, self.headers, self.fields, *asks))

    @classmethod
    def unpacked(cls, head: bytes, body: bytes) -> "ReadRequest":
        url, asked_url, status, headers, fields, is_judged, looks_only, survey, crawl = orjson.loads(head)
        pairs = tuple((name, value) for name, value in headers)
        specs = tuple(FieldSpec(**spec) for spec in fields)
        asked = None if survey is None else Survey(survey)
        of_crawl = None if crawl is None else CrawlAsk(**crawl)
        return cls(body, url, asked_url, status, pairs, specs, is_judged, looks_only, asked, of_crawl)


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """`refused` says why a page was not read at all; `problems` by field, why it was not looked for to the end."""

    record: dict[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    title: str | None = None
    encoding: str | None = None
    replacements: int = 0
    problems: dict[str, str] = field(default_factory=dict)
    verdict: dict[str, Any] | None = None  # what gave a page away that only looks like content
    failure: Failed | None = None  # what it is then, or what its status says
    is_shell: bool = False
    refused: str | None = None
    dropped: dict[str, int] = field(default_factory=dict)  # by field, how many values were left out
    links_dropped: int = 0
    crawled: dict[str, Any] | None = None  # what a crawl asked for

    def notes(self) -> dict[str, Any]:
        """What was not done to the end, for the statistics."""
        said = {"problems": self.problems, "dropped": self.dropped, "links_dropped": self.links_dropped}
        return {name: value for name, value in said.items() if value}

    def packed(self) -> bytes:
        return orjson.dumps(self)

    @classmethod
    def unpacked(cls, packed: bytes) -> "ReadAnswer":
        parts = orjson.loads(packed)
        failure = parts["failure"]
        if failure is not None:
            parts["failure"] = Failed(**{**failure, "code": FailureCode(failure["code"]), "artifacts": ()})
        return cls(**{**parts, "missing": tuple(parts["missing"])})


def read_page(request: ReadRequest, guard: Guard = unguarded, skipped: Collection[int] = ()) -> ReadAnswer:
    """`guard` is entered around every selector; `skipped` are the places of fields whose selector took too long."""
    decoded = decode(request.body, request.content_type)
    content_type = request.content_type.partition(";")[0].strip().lower()
    if request.looks_only:
        is_shell = not is_too_deep(decoded.text) and is_application_shell(decoded.text, request.fields)
        return ReadAnswer(is_shell=is_shell)
    if request.survey is not None:
        return _surveyed(request, request.survey, decoded.text, guard, skipped)
    page: Page | None = None
    title: str | None = None
    if "json" in content_type:
        extraction = _from_json(decoded.text, request.fields, guard, skipped)
    elif content_type and not any(kind in content_type for kind in _MARKUP):
        extraction = _from_text(decoded.text, request.fields, guard, skipped)
    elif is_too_deep(decoded.text):
        return ReadAnswer(encoding=decoded.encoding, replacements=decoded.replacements, refused=TOO_DEEP)
    else:
        try:
            page = Page(decoded.text, request.url)
        except SelectolaxError as error:
            refused = f"the parser gave up on it: {error}"
            return ReadAnswer(encoding=decoded.encoding, replacements=decoded.replacements, refused=refused)
        title = page.title[:_MAX_TITLE_CHARS] if page.title else None
        extraction = extract_from(page, request.fields, guard, skipped)
    failure, verdict = _judged(request, content_type, decoded.text, title, extraction.missing, page)
    return ReadAnswer(
        extraction.record,
        extraction.missing,
        title,
        decoded.encoding,
        decoded.replacements,
        {request.fields[place].name: "limit:selector" for place in sorted(skipped)},
        verdict,
        failure,
        dropped=extraction.dropped,
        crawled=None if page is None or request.crawl is None else crawled(page, request.url, request.crawl),
        links_dropped=sum(extraction.dropped.get(spec.name, 0) for spec in request.fields if is_of_links(spec)),
    )


def _surveyed(request: ReadRequest, what: Survey, text: str, guard: Guard, skipped: Collection[int]) -> ReadAnswer:
    """Of a page that has been read before, so that it can be."""
    content_type = request.content_type.lower()
    is_markup = "json" not in content_type and (not content_type or any(kind in content_type for kind in _MARKUP))
    subject = Subject(request.url, text, Page(text, request.url) if is_markup else None)
    return ReadAnswer(surveyed(what, subject, request.fields, guard, skipped))


def is_text(content_type: str, body: bytes) -> bool:
    """By the declared type; without one, by the absence of NUL bytes near the start."""
    if not content_type:
        return b"\0" not in body[:1024]
    kinds = ("text/", "html", "xml", "json", "javascript")
    return any(kind in content_type for kind in kinds)


def nothing_found(fields: tuple[FieldSpec, ...]) -> Extraction:
    record: dict[str, Any] = {spec.name: [] if spec.all else None for spec in fields}
    return Extraction(record, tuple(record))


def _judged(  # noqa: PLR0917 - the parts of one reading
    request: ReadRequest,
    content_type: str,
    text: str,
    title: str | None,
    missing: tuple[str, ...],
    page: Page | None,
) -> tuple[Failed | None, dict[str, Any] | None]:
    if not request.is_judged:
        return None, None
    headers = merged(request.headers)
    answer = Answer(request.status, headers, content_type, request.url, request.asked_url, text, title)
    return failure_behind(answer, missing, page)


def _from_json(text: str, fields: tuple[FieldSpec, ...], guard: Guard, skipped: Collection[int]) -> Extraction:
    """Bare names are looked up among the keys of the outermost object."""
    try:
        document = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        document = None
    keys = {plain(key): value for key, value in document.items()} if isinstance(document, dict) else {}
    record = {spec.name: None if spec.css else storable(keys.get(plain(spec.name))) for spec in fields}
    return _weighed({**record, **_by_pattern(text, fields, guard, skipped)})


def _from_text(text: str, fields: tuple[FieldSpec, ...], guard: Guard, skipped: Collection[int]) -> Extraction:
    """A plain text has no fields but itself."""
    whole = text[:MAX_VALUE_CHARS].strip()
    record: dict[str, Any] = {
        spec.name: whole if not spec.css and plain(spec.name) in ("text", "content", "body") else None
        for spec in fields
    }
    return _weighed({**record, **_by_pattern(text, fields, guard, skipped)})


def _by_pattern(
    text: str, fields: tuple[FieldSpec, ...], guard: Guard, skipped: Collection[int]
) -> dict[str, list[str] | str | None]:
    """What patterns find in a document without elements."""
    record: dict[str, list[str] | str | None] = {}
    for place, spec in enumerate(fields):
        if not spec.regex:
            continue
        values: list[str] = []
        if not spec.css and place not in skipped:
            with guard(place):
                values = searched(spec.regex, text[:MAX_VALUE_CHARS])
        record[spec.name] = values if spec.all else next(iter(values), None)
    return record


def _weighed(record: dict[str, Any]) -> Extraction:
    return Extraction(record, tuple(name for name, value in record.items() if value in (None, "", [], {})))
