"""A page as it arrived, read: decoded, parsed, its fields extracted, judged. The same for every executor.

It is pure and takes all it needs as values, so that it can be done in a process of its own.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from selectolax.lexbor import SelectolaxError

from corral.domain.crawl.crawl import CrawlPlan
from corral.domain.fields.own_code import parser_of, without_parser
from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.survey import Survey
from corral.domain.runs.outcome import Failed
from corral.domain.runs.status_classes import failure_of_status
from corral.extract.charset import Decoded, decode
from corral.extract.classify.insertions import describe_own_scripts, describe_scripts
from corral.extract.classify.page_classifier import ClassifierInput, failure_behind, merge_headers
from corral.extract.classify.shells import is_application_shell, is_shell_page
from corral.extract.crawl_page import CrawledDocument, CrawlReadOptions, extract_crawl_page
from corral.extract.documents import NOTHING, document_of
from corral.extract.fields.extract import Extraction, Guard, extract_from, is_of_links, no_guard, source_of
from corral.extract.fields.plain_sources import JsonSource, TextSource
from corral.extract.fields.raw import page_facts
from corral.extract.fields.source import Source
from corral.extract.link_classifier import ReadMemory
from corral.extract.links import MAX_LINKS
from corral.extract.lists.extract import extract_listing
from corral.extract.own_code.code_page import CodePage
from corral.extract.own_code.rows import CodeMark, CodeResult, no_mark, run_code
from corral.extract.page import Page, is_too_deep, unfold_frames
from corral.extract.read_time import ReadTime
from corral.extract.sitemap import NotASitemap, read_sitemap
from corral.extract.survey.survey import Subject, survey_page
from corral.extract.types.model import TypeContext
from corral.extract.value_limit import DEFAULT_CHARS, cut_record, limit_values
from corral.extract.xml.prolog import encoding_of_xml, is_xml, prolog_of

TOO_DEEP = "it is nested too deeply"
TOO_LARGE = "it is nested deeper than 256 levels, or one of its texts is larger than 10 MB"
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
    crawl: CrawlReadOptions | None = None  # asked for beside the record
    max_value_chars: int = DEFAULT_CHARS  # longer values are cut and listed in the problems
    max_links: int = MAX_LINKS  # of a page of a crawl
    now: datetime | None = None  # of a recorded page, when it was recorded; None is the reader's clock
    memory_mib: int = 0  # that reading it may take; 0 is the limit of the reader

    @property
    def content_type(self) -> str:
        return next((value for name, value in self.headers if name.lower() == "content-type"), "")


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
    refused_as: str = "limit:parse"  # the fault that is then
    dropped: dict[str, int] = field(default_factory=dict)  # by field, how many values were left out
    links_dropped: int = 0
    crawl_page: dict[str, Any] | None = None  # what a crawl asked for
    details: dict[str, dict[str, Any]] = field(default_factory=dict)  # by field, how its value came about
    raw: dict[str, Any] = field(default_factory=dict)  # by field, its value before it was converted
    charset: dict[str, Any] | None = None  # what named the encoding, and how sure that is
    rows: tuple[dict[str, Any], ...] | None = None  # the records of own code; `record` is the first of them
    row_details: tuple[dict[str, Any], ...] = ()
    links: tuple[str, ...] | None = None  # those that own code wants followed
    cpu_ms: int = 0  # processor time of reading it
    scripts: dict[str, Any] | None = None  # that could add values to fields with several: see describe_own_scripts

    @property
    def records(self) -> tuple[dict[str, Any], ...]:
        return (self.record,) if self.rows is None else self.rows

    @property
    def records_details(self) -> tuple[dict[str, Any], ...]:
        return (self.details,) if self.rows is None else self.row_details

    def notes(self) -> dict[str, Any]:
        """What was not done to the end, for the statistics."""
        said = {"problems": self.problems, "dropped": self.dropped, "links_dropped": self.links_dropped}
        return {name: value for name, value in said.items() if value}


class _Refused(Exception):
    """A document that is not read; `fault` is what the run fails with."""

    def __init__(self, why: str, fault: str = "limit:parse") -> None:
        super().__init__(why)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class _Read:
    """What a document is: of JSON and text neither is there; `page` only of HTML."""

    source: Source | None = None
    page: Page | None = None
    title: str | None = None


def read_page(
    request: ReadRequest,
    time: ReadTime,
    guard: Guard = no_guard,
    skipped: Collection[int] = (),
    *,
    memory: ReadMemory | None = None,
    mark: CodeMark = no_mark,
) -> ReadAnswer:
    """`guard` is entered around every selector; `skipped` are the places of fields whose selector took too long.

    `memory` makes the pages of a crawl faster; without one, nothing is remembered. `mark` is entered around own code.
    """
    if request.now is not None:
        time = time._replace(now=request.now)
    with limit_values(request.max_value_chars):
        return _read_page(request, time, guard, skipped, ReadMemory() if memory is None else memory, mark)


def _read_page(  # noqa: PLR0917 - the parts of one reading
    request: ReadRequest,
    time: ReadTime,
    guard: Guard,
    skipped: Collection[int],
    memory: ReadMemory,
    mark: CodeMark,
) -> ReadAnswer:
    if request.crawl is not None and request.crawl.level:
        return _sitemap(request, request.crawl, memory.plan(request.crawl.plan), time.today)
    content_type = request.content_type.partition(";")[0].strip().lower()
    decoded = _decode_body(request, content_type)
    if request.looks_only:
        return ReadAnswer(is_shell=_is_empty_shell(request, decoded.text))
    try:
        read = _document(decoded, content_type, request)
    except _Refused as refused:
        if refused.fault == "limit:parse" or failure_of_status(request.status) is None:
            return _refuse(decoded, refused)
        read = _Read()  # its status says what it is, and nothing of it is read
    if request.survey is not None:
        return _survey(request, Subject(request.url, decoded.text, read.source, read.page), guard, skipped)
    extraction, made = Extraction({}, ()), None
    if request.fields:
        source = read.source or _plain_source(decoded.text, content_type)
        extraction = _extract(request, source, time, guard, skipped)
        made = _run_code(request, source, decoded.text, extraction, time, memory, mark)
        extraction = extraction if made is None else made.extraction
    failure, verdict = _classify(request, content_type, decoded.text, extraction.missing, read)
    failure = failure or _failure_of_code(request, read, made)
    answer = ReadAnswer(
        extraction.record,
        extraction.missing,
        read.title,
        decoded.encoding,
        decoded.replacements,
        extraction.problems,
        verdict,
        failure,
        dropped=extraction.dropped,
        charset=decoded.notes(),
        details=extraction.details,
        raw=extraction.raw if request.crawl is None else {},
        crawl_page=None
        if failure
        else _read_crawl_page(request, time, read, extraction, decoded.text, content_type, memory, made),
        links_dropped=sum(extraction.dropped.get(spec.name, 0) for spec in request.fields if is_of_links(spec)),
        scripts=None if request.crawl else describe_own_scripts(read.page, request.url, request.fields),
    )
    return answer if made is None else replace(answer, rows=made.rows, row_details=made.details, links=made.links)


def _survey(request: ReadRequest, subject: Subject, guard: Guard, skipped: Collection[int]) -> ReadAnswer:
    assert request.survey is not None
    return ReadAnswer(survey_page(request.survey, subject, request.fields, guard, skipped))


def _is_empty_shell(request: ReadRequest, text: str) -> bool:
    return not is_too_deep(text) and is_application_shell(text, request.fields)


def _refuse(decoded: Decoded, refused: _Refused) -> ReadAnswer:
    return ReadAnswer(
        encoding=decoded.encoding,
        replacements=decoded.replacements,
        refused=str(refused),
        refused_as=refused.fault,
        charset=decoded.notes(),
    )


def _failure_of_code(request: ReadRequest, read: _Read, made: CodeResult | None) -> Failed | None:
    if made is None or made.failure is None or request.crawl is None:
        return None if made is None else made.failure
    # A crawl renders a page whose scripts may bring what the code looks for.
    has_scripts = read.page is not None and b"<script" in read.page.mentioned
    return replace(made.failure, stats={"needs_scripts": has_scripts})


def _extract(
    request: ReadRequest, source: Source, time: ReadTime, guard: Guard, skipped: Collection[int]
) -> Extraction:
    facts = page_facts(request.url, request.asked_url, request.status, time.now)
    context = TypeContext(language=source.language, base_url=request.url, now=time.now)
    extraction = extract_from(source, request.fields, guard, skipped, facts, context)
    record, cut = cut_record(extraction.record)
    return replace(extraction, record=record, problems={**extraction.problems, **cut})


def _run_code(  # noqa: PLR0917 - the parts of one reading
    request: ReadRequest,
    source: Source,
    text: str,
    extraction: Extraction,
    time: ReadTime,
    memory: ReadMemory,
    mark: CodeMark,
) -> CodeResult | None:
    """None where the page has no own code, or failed by its status."""
    spec = parser_of(request.fields)
    if spec is None or failure_of_status(request.status) is not None:
        return None
    headers = merge_headers(request.headers)
    about = (request.url, request.asked_url, request.status, headers, request.body, text)
    page = CodePage(source, *about, extraction.record)
    context = TypeContext(language=source.language, base_url=request.url, now=time.now)
    fields = without_parser(request.fields)
    return run_code(spec, page, fields, extraction, context, memory, request.max_links, mark)


def _plain_source(text: str, content_type: str) -> Source:
    return JsonSource.parse(text) if "json" in content_type else TextSource(text)


def _read_crawl_page(  # noqa: PLR0917 - the parts of one reading
    request: ReadRequest,
    time: ReadTime,
    read: _Read,
    extraction: Extraction,
    text: str,
    content_type: str,
    memory: ReadMemory,
    made: CodeResult | None,
) -> dict[str, Any] | None:
    if request.crawl is None:
        return None
    page, ask, plan = read.page, request.crawl, memory.plan(request.crawl.plan)
    if ask.listing is not None:
        told = extract_listing(request.url, extraction.record, page, ask=ask, plan=plan, today=time.today)
    else:
        root = getattr(read.source, "root", None) if page is None else None
        document = document_of(text, content_type, read.title, root) if page is None else None
        tags = tuple(value for name, value in request.headers if name.lower() == "x-robots-tag")
        about = CrawledDocument(request.url, request.status, request.crawl, time, tags, request.max_links)
        told = extract_crawl_page(page or document or NOTHING, read.title, about, extraction.record, memory, made)
        told["details"] = extraction.details
    told["missing"] = extraction.missing
    has_scripts = page is not None and b"<script" in page.mentioned
    told |= {"has_scripts": has_scripts, "is_shell": has_scripts and _is_shell(request, page, text, told, plan)}
    return told if page is None else {**told, **describe_scripts(page, request.url, plan, ask)}


def _is_shell(request: ReadRequest, page: Page | None, text: str, told: dict[str, Any], plan: CrawlPlan) -> bool:
    """Fields count where each page is meant to have them: most pages of a whole site have none."""
    if page is None:
        return False
    is_meant = plan.listing is not None
    fields, missing = (request.fields, told.get("missing", ())) if is_meant else ((), ())
    return is_shell_page(page, text, fields, missing, text_chars=told.get("text_chars", 0))


def _sitemap(request: ReadRequest, ask: CrawlReadOptions, plan: CrawlPlan, today: date) -> ReadAnswer:
    try:
        told = read_sitemap(request.body, request.content_type, request.url, plan, ask.level, today)
    except NotASitemap as refused:
        return ReadAnswer(refused=str(refused), refused_as=refused.fault)
    return ReadAnswer(crawl_page=told)


def _decode_body(request: ReadRequest, content_type: str) -> Decoded:
    """An XML document may say itself how it is encoded; the header comes before it."""
    declared = request.content_type
    if is_xml(content_type) and "charset" not in declared.lower() and (named := encoding_of_xml(request.body)):
        declared = f"{content_type}; charset={named}"
    return decode(request.body, declared, partial(_host, request.url))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # an address that only a browser can read
        return ""


def _document(decoded: Decoded, content_type: str, request: ReadRequest) -> _Read:
    text, url = decoded.text, request.url
    if "json" in content_type or (content_type and not any(kind in content_type for kind in _MARKUP)):
        return _Read()
    if is_xml(content_type) and (read := _xml(text, url)):
        return read
    unfolded = unfold_frames(text)
    if is_too_deep(unfolded):
        raise _Refused(TOO_DEEP)
    try:
        page = Page(unfolded, url, is_flat=True, utf8=decoded.utf8 if unfolded is text else None)
    except SelectolaxError as error:
        raise _Refused(f"the parser gave up on it: {error}") from None
    if request.crawl is not None:
        _ = page.outline  # one walk over the tree, which all searches of a crawl share
    return _Read(source_of(page), page, _shorten(page.title))


def _xml(text: str, url: str) -> _Read | None:
    """None where it is no XML whatever its type says, or is a page: it is read as HTML then."""
    prolog = prolog_of(text)
    if prolog.declares:
        raise _Refused("its DOCTYPE has an internal subset", "bad_response:xml_dtd")
    if prolog.root_at is None or prolog.root.lower() == "html":
        return None
    from corral.extract.fields.xml_source import XmlSource  # noqa: PLC0415
    from corral.extract.xml.elements import TooMuch, xml_elements  # noqa: PLC0415 - most pages do without lxml

    try:
        elements = xml_elements(text[prolog.root_at :])
    except TooMuch:
        raise _Refused(TOO_LARGE) from None
    if elements is None:
        return None
    source = XmlSource(elements, url)
    return _Read(source, title=_shorten(source.title))


def _shorten(title: str | None) -> str | None:
    return title[:_MAX_TITLE_CHARS] if title else None


def nothing_found(fields: tuple[FieldSpec, ...]) -> Extraction:
    record: dict[str, Any] = {spec.name: [] if spec.all else None for spec in fields if not spec.is_code}
    return Extraction(record, tuple(spec.name for spec in fields))


def _classify(
    request: ReadRequest, content_type: str, text: str, missing: tuple[str, ...], read: _Read
) -> tuple[Failed | None, dict[str, Any] | None]:
    if not request.is_judged:
        return None, None
    headers = merge_headers(request.headers)
    asked = (request.url, request.asked_url)
    answer = ClassifierInput(
        request.status, headers, content_type, *asked, text, read.title, wants_title_only(request.fields)
    )
    return failure_behind(answer, missing, read.page)


def wants_title_only(fields: tuple[FieldSpec, ...]) -> bool:
    return [(spec.name.lower(), spec.selector, spec.regex) for spec in fields] == [("title", None, None)]
