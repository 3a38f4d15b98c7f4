"""Read a fetched page: decode, parse, extract the fields, classify. All executors share this code.

Reading has no side effects and takes all inputs as values, so that a separate process can do it.
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
    """A response, and what to extract from it. With `is_shell_check`, only `is_shell` of the answer is computed."""

    body: bytes
    url: str
    requested_url: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    fields: tuple[FieldSpec, ...] = ()
    should_classify: bool = True
    is_shell_check: bool = False
    survey: Survey | None = None  # return this analysis instead of a record, for a person who writes a job
    crawl: CrawlReadOptions | None = None  # also return what a crawl needs
    max_value_chars: int = DEFAULT_CHARS  # longer values are cut and listed in the problems
    max_links: int = MAX_LINKS  # for a page of a crawl
    now: datetime | None = None  # the time of recording, for a recorded page; None is the reader's clock
    memory_mib: int = 0  # memory limit for this page; 0 is the default limit of the reader

    @property
    def content_type(self) -> str:
        return next((value for name, value in self.headers if name.lower() == "content-type"), "")


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The result of reading a page.

    `refused` is the reason why the page was not read at all; `problems` lists by field why its search was cut short.
    """

    record: dict[str, Any] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    title: str | None = None
    encoding: str | None = None
    replacements: int = 0
    problems: dict[str, str] = field(default_factory=dict)
    verdict: dict[str, Any] | None = None  # the evidence, if the page only looks like content
    failure: Failed | None = None  # by the verdict or by the HTTP status
    is_shell: bool = False
    refused: str | None = None
    refused_as: str = "limit:parse"  # the fault code that goes with `refused`
    dropped: dict[str, int] = field(default_factory=dict)  # by field, how many values were left out
    links_dropped: int = 0
    crawl_page: dict[str, Any] | None = None  # what a crawl needs, as JSON
    details: dict[str, dict[str, Any]] = field(default_factory=dict)  # by field: see FieldValue.detail
    raw: dict[str, Any] = field(default_factory=dict)  # by field, its value before conversion
    charset: dict[str, Any] | None = None  # the source of the encoding, and its confidence
    rows: tuple[dict[str, Any], ...] | None = None  # the records of own code; `record` is the first of them
    row_details: tuple[dict[str, Any], ...] = ()
    links: tuple[str, ...] | None = None  # the links that own code returned
    cpu_ms: int = 0  # processor time of the reading
    scripts: dict[str, Any] | None = None  # scripts that could add values: see describe_own_scripts

    @property
    def records(self) -> tuple[dict[str, Any], ...]:
        return (self.record,) if self.rows is None else self.rows

    @property
    def records_details(self) -> tuple[dict[str, Any], ...]:
        return (self.details,) if self.rows is None else self.row_details

    def notes(self) -> dict[str, Any]:
        """Return what was cut or left out, for the statistics of the run."""
        counts = {"problems": self.problems, "dropped": self.dropped, "links_dropped": self.links_dropped}
        return {name: value for name, value in counts.items() if value}


class _Refused(Exception):
    """The document cannot be read; `fault` is the fault code of the run."""

    def __init__(self, reason: str, fault: str = "limit:parse") -> None:
        super().__init__(reason)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class _Read:
    """A parsed document. JSON and plain text have neither `source` nor `page`; only HTML has a `page`."""

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
    """Read one page.

    `guard` is entered around every selector; `skipped` has the indexes of fields whose selectors took too long.
    `memory` is a cache that speeds up the pages of a crawl. `mark` is entered around own code.
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
    if request.is_shell_check:
        return ReadAnswer(is_shell=_is_empty_shell(request, decoded.text))
    try:
        read = _document(decoded, content_type, request)
    except _Refused as refused:
        if refused.fault == "limit:parse" or failure_of_status(request.status) is None:
            return _refuse(decoded, refused)
        read = _Read()  # the failure follows from the status alone
    if request.survey is not None:
        return _survey(request, Subject(request.url, decoded.text, read.source, read.page), guard, skipped)
    extraction, code = Extraction({}, ()), None
    if request.fields:
        source = read.source or _plain_source(decoded.text, content_type)
        extraction = _extract(request, source, time, guard, skipped)
        code = _run_code(request, source, decoded.text, extraction, time, memory, mark)
        extraction = extraction if code is None else code.extraction
    failure, verdict = _classify(request, content_type, decoded.text, extraction.missing, read)
    failure = failure or _failure_of_code(request, read, code)
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
        else _read_crawl_page(request, time, read, extraction, decoded.text, content_type, memory, code),
        links_dropped=sum(extraction.dropped.get(spec.name, 0) for spec in request.fields if is_of_links(spec)),
        scripts=None if request.crawl else describe_own_scripts(read.page, request.url, request.fields),
    )
    return answer if code is None else replace(answer, rows=code.rows, row_details=code.details, links=code.links)


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


def _failure_of_code(request: ReadRequest, read: _Read, code: CodeResult | None) -> Failed | None:
    if code is None or code.failure is None or request.crawl is None:
        return None if code is None else code.failure
    # A crawl renders the page if its scripts may add what the code looks for.
    has_scripts = read.page is not None and b"<script" in read.page.mentioned
    return replace(code.failure, stats={"needs_scripts": has_scripts})


def _extract(
    request: ReadRequest, source: Source, time: ReadTime, guard: Guard, skipped: Collection[int]
) -> Extraction:
    facts = page_facts(request.url, request.requested_url, request.status, time.now)
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
    """Run the own code of the job on the page; return None if there is none or the status is a failure."""
    spec = parser_of(request.fields)
    if spec is None or failure_of_status(request.status) is not None:
        return None
    headers = merge_headers(request.headers)
    about = (request.url, request.requested_url, request.status, headers, request.body, text)
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
    code: CodeResult | None,
) -> dict[str, Any] | None:
    if request.crawl is None:
        return None
    page, options, plan = read.page, request.crawl, memory.plan(request.crawl.plan)
    if options.listing is not None:
        result = extract_listing(request.url, extraction.record, page, options=options, plan=plan, today=time.today)
    else:
        root = getattr(read.source, "root", None) if page is None else None
        document = document_of(text, content_type, read.title, root) if page is None else None
        tags = tuple(value for name, value in request.headers if name.lower() == "x-robots-tag")
        about = CrawledDocument(request.url, request.status, request.crawl, time, tags, request.max_links)
        result = extract_crawl_page(page or document or NOTHING, read.title, about, extraction.record, memory, code)
        result["details"] = extraction.details
    result["missing"] = extraction.missing
    has_scripts = page is not None and b"<script" in page.mentioned
    result |= {"has_scripts": has_scripts, "is_shell": has_scripts and _is_shell(request, page, text, result, plan)}
    return result if page is None else {**result, **describe_scripts(page, request.url, plan, options)}


def _is_shell(request: ReadRequest, page: Page | None, text: str, crawl_page: dict[str, Any], plan: CrawlPlan) -> bool:
    """Return whether the page is a shell.

    Missing fields count only in a crawl of a list, whose items should all have them; most pages of a site have none.
    """
    if page is None:
        return False
    has_items = plan.listing is not None
    fields, missing = (request.fields, crawl_page.get("missing", ())) if has_items else ((), ())
    return is_shell_page(page, text, fields, missing, text_chars=crawl_page.get("text_chars", 0))


def _sitemap(request: ReadRequest, options: CrawlReadOptions, plan: CrawlPlan, today: date) -> ReadAnswer:
    try:
        listed = read_sitemap(request.body, request.content_type, request.url, plan, options.level, today)
    except NotASitemap as refused:
        return ReadAnswer(refused=str(refused), refused_as=refused.fault)
    return ReadAnswer(crawl_page=listed)


def _decode_body(request: ReadRequest, content_type: str) -> Decoded:
    """Decode the body. An encoding in the header takes precedence over the declaration of an XML document."""
    declared = request.content_type
    if is_xml(content_type) and "charset" not in declared.lower() and (named := encoding_of_xml(request.body)):
        declared = f"{content_type}; charset={named}"
    return decode(request.body, declared, partial(_host, request.url))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # a URL that only browsers accept
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
        _ = page.outline  # computed now, so that all searches of a crawl share one walk over the tree
    return _Read(source_of(page), page, _shorten(page.title))


def _xml(text: str, url: str) -> _Read | None:
    """Parse an XML document; return None if it is an XHTML page or no XML after all, to be read as HTML."""
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
    if not request.should_classify:
        return None, None
    headers = merge_headers(request.headers)
    urls = (request.url, request.requested_url)
    response = ClassifierInput(
        request.status, headers, content_type, *urls, text, read.title, wants_title_only(request.fields)
    )
    return failure_behind(response, missing, read.page)


def wants_title_only(fields: tuple[FieldSpec, ...]) -> bool:
    return [(spec.name.lower(), spec.selector, spec.regex) for spec in fields] == [("title", None, None)]
