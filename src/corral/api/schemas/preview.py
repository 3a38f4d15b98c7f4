"""Schemas of previews and field maps."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StrictBool, model_validator

from corral.api.schemas.common import LinkSelector, PagingSelector, paging_document
from corral.api.schemas.fields import FieldName, FieldRecipe, FieldType, Selector, Strict, field_specs
from corral.domain.fields.own_code import without_parser
from corral.domain.fields.parse import parse_field
from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.job import Strategy
from corral.domain.jobs.survey import MAX_SAMPLES, MAX_SNIPPET_CHARS
from corral.domain.lists.counters import add_param, counter_in
from corral.domain.lists.pagination import Pagination, PagingMode, check_pagination
from corral.domain.net.url import MAX_URL_CHARS
from corral.engine.usecases.preview import MORE_PAGES, PreviewResult
from corral.views.previews import MAX_PREVIEW_CHARS, MAX_PREVIEW_VALUES, shorten_value

_BROWSER = "load the page in the browser and run its scripts; refused if no browser is installed"
_SPEC = (
    "a CSS selector, or the options of a field of a job: `name`, one of `css` (or `selector`), `xpath` and `jsonpath`, "
    "`attr`, `all`, `regex`"
)
Url = Annotated[str, Field(max_length=MAX_URL_CHARS)]
FetchedVia = Literal["http", "browser"]


class PreviewRequest(Strict):
    url: Url
    prefer_browser: StrictBool = Field(False, description=_BROWSER)


class Click(Strict):
    """The element that a person chose, by one of three properties."""

    css: Selector | None = Field(None, description="its CSS path; the first match counts")
    xpath: Selector | None = None
    text: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(
        None, description="its text; the innermost element with this text counts"
    )

    @model_validator(mode="after")
    def _check_exclusive(self) -> "Click":
        if sum(each is not None for each in (self.css, self.xpath, self.text)) != 1:
            raise ValueError("give css, xpath or text, one of them")
        return self

    def spec(self) -> FieldSpec:
        return FieldSpec("click", css=self.css, xpath=self.xpath, const=self.text)


class PagePreviewRequest(PreviewRequest):
    click: Click | None = Field(None, description="suggest selectors for this element instead of fields of the page")


class SuggestionRead(BaseModel):
    label: str = Field(
        description="the field that it resembles; for a clicked element `element`, or `alike` for all elements like it"
    )
    css: str | None = Field(description="null if `xpath` is set")
    xpath: str | None = Field(None, description="for a value behind a label: selects by the text of the label")
    confidence: float = Field(ge=0, le=1)
    attr: str | None = Field(description="the attribute with the value; null if it is the text")
    all: bool = Field(description="true if every match is a value, as in a list")
    regex: str | None = Field(description="applied to the text that the selector matches; the first group is the value")
    sample: str = Field(description="its value on this page, shortened")
    values: list[str | list[str] | None] = Field(
        description="its value on each page of `pages` that was read, in their order, shortened"
    )
    found_on: int = Field(description="number of these pages that have it")
    matches: int | None = Field(
        None, description="for a clicked element: the number of elements of this page that match"
    )


class ListOffer(BaseModel):
    item: str = Field(description="selects the repeated items")
    count: int
    confidence: float = Field(ge=0, le=1)
    recipe: dict[str, Any] = Field(description="a field of a job, or of a recipe file, that gives one object per item")
    rows: list[dict[str, Any]] = Field(description="the first objects that it gives on this page")
    rows_on: list[int] = Field(description="how many objects it gives on each page of `pages` that was read")


class ClickedElement(BaseModel):
    tag: str
    text: str
    css: str = Field(description="CSS path of the element in the page")


class PreviewedPageRead(BaseModel):
    url: str
    problem: str | None = Field(description="why the page could not be read; null if it was read")


class PreviewRead(BaseModel):
    url: str = Field(description="URL of the page, after redirects")
    fetched_via: FetchedVia
    html_snippet: str = Field(
        description=f"the first {MAX_SNIPPET_CHARS} characters, unchanged. Foreign HTML: show it as text only"
    )
    suggestions: list[SuggestionRead]
    lists: list[ListOffer] = Field(description="repeated items of the page, such as the products of a list")
    clicked: ClickedElement | None = Field(None, description="the element that `click` names")
    pages: list[PreviewedPageRead] = Field(
        description=f"this page, and up to {MORE_PAGES} more of its template, found among its links"
    )
    pages_note: str | None = Field(description="why there are fewer pages; null if there are not")
    warnings: list[str]


class SelectorRecipe(FieldRecipe):
    name: FieldName = ""

    def spec(self, field: str = "selector_spec") -> FieldSpec:
        named = {**self.document(), "name": self.name.strip() or "value"}
        return replace(parse_field(named, field=field), name=self.name)


class SelectorSpec(SelectorRecipe):
    @model_validator(mode="after")
    def _check_selector(self) -> "SelectorSpec":
        if not self.name.strip() and not (self.spec().selector or self.regex):
            options = (
                "css, xpath, jsonpath, regex, or the name of a field that pages describe themselves, such as title"
            )
            raise ValueError(f"give {options}")
        return self


class SelectorCheck(PreviewRequest):
    selector_spec: Selector | SelectorSpec = Field(description=_SPEC)

    def spec(self) -> FieldSpec:
        selector = self.selector_spec
        return FieldSpec("", selector) if isinstance(selector, str) else selector.spec()


class SelectorCheckRead(BaseModel):
    url: str
    fetched_via: FetchedVia
    selector_spec: dict[str, Any]
    value_preview: str | list[str] | None = Field(
        description=f"as a run would extract it; at most {MAX_PREVIEW_CHARS} characters, of a list {MAX_PREVIEW_VALUES}"
    )
    match_count_estimate: int = Field(
        description="number of elements that `css` or `xpath` matches; of values, with a `regex` or a `jsonpath`"
    )
    warnings: list[str]


class ListCheck(PreviewRequest):
    item_links: Selector | LinkSelector | None = Field(
        None, description="selects the links to the items; if omitted, selectors are proposed"
    )
    pagination: Selector | PagingSelector | None = Field(
        None, description="as in list_config; if omitted, it is proposed and not checked"
    )
    max_samples: Annotated[int, Field(strict=True, ge=1, le=MAX_SAMPLES)] = 5

    def specs(self) -> tuple[FieldSpec, ...]:
        links = () if self.item_links is None else (_links(self.item_links).spec("item_links", every=True),)
        paging = self.paging()
        return links if paging is None or paging.selector is None else (*links, paging.selector)

    def paging(self) -> Pagination | None:
        if self.pagination is None:
            return None
        document = paging_document(self.pagination)
        check_pagination(document, strategy="auto", field="pagination")
        return Pagination.of(document)


class ItemLinksProposal(BaseModel):
    item_links: str = Field(description="a CSS selector, for `item_links` of a list_config")
    item_count: int = Field(description="distinct links")
    sample_item_urls: list[str]
    sample_texts: list[str]
    confidence: float = Field(ge=0, le=1)


class PaginationProposal(BaseModel):
    pagination: str = Field(description="a mode, for `pagination` of a list_config")
    page_urls: list[str] = Field(description="the next pages that a run would visit, as far as this page shows them")
    confidence: float = Field(ge=0, le=1)


class ListCheckRead(BaseModel):
    item_count_estimate: int
    sample_item_urls: list[str]
    next_page_url: str | None
    warnings: list[str]
    item_links_proposals: list[ItemLinksProposal] = Field(description="the best first; empty if item_links is given")
    pagination_proposals: list[PaginationProposal] = Field(description="the best first")
    page_urls: list[str] = Field(description="the next pages that the given pagination, or the best one, would visit")


class Mapping(Strict):
    """A field map in the format of older clients."""

    field_name: FieldName
    selector_spec: Selector | SelectorRecipe | None = Field(None, description=_SPEC)
    field_type: FieldType | None = Field(
        None, description="type that the value is converted to; a list takes every match"
    )

    def spec(self) -> FieldSpec:
        selector = self.selector_spec
        spec = FieldSpec("", selector if isinstance(selector, str) else None)
        if isinstance(selector, SelectorRecipe):
            spec = selector.spec()
        if self.field_type == "list":
            spec = replace(spec, all=True)
        return replace(spec, name=self.field_name, type=self.field_type or spec.type)


_MAPS = "as `fields` of a job: a name, or a name and how it is found"
Maps = Annotated[list[FieldName | FieldRecipe], Field(min_length=1, max_length=200)]
Mappings = Annotated[list[Mapping], Field(min_length=1, max_length=200)]


class FieldMapsBody(Strict):
    field_maps: Maps | None = Field(None, description=_MAPS)
    mappings: Mappings | None = Field(None, description="the same, in the format of older clients")

    @model_validator(mode="after")
    def _check_one_list(self) -> "FieldMapsBody":
        if (self.field_maps is None) == (self.mappings is None):
            raise ValueError("give field_maps or mappings, one of them")
        return self

    def specs(self) -> tuple[FieldSpec, ...]:
        return field_specs(self.field_maps or [], "field_maps") + tuple(each.spec() for each in self.mappings or ())


class FieldMapsCheck(Strict):
    field_maps: Maps | None = Field(None, description="if omitted, the field maps of the job")
    mappings: Mappings | None = Field(None, description="the same, in the format of older clients")
    prefer_browser: StrictBool = Field(False, description=_BROWSER)

    @model_validator(mode="after")
    def _check_exclusive(self) -> "FieldMapsCheck":
        if self.field_maps is not None and self.mappings is not None:
            raise ValueError("give field_maps or mappings, one of them")
        return self

    def specs(self) -> tuple[FieldSpec, ...] | None:
        if self.field_maps is None and self.mappings is None:
            return None
        return field_specs(self.field_maps or [], "field_maps") + tuple(each.spec() for each in self.mappings or ())


class FieldMap(BaseModel):
    name: str
    type: str | None
    css: str | None
    xpath: str | None
    jsonpath: str | None
    attr: str | None
    all: bool
    regex: str | None


class FieldMapsRead(BaseModel):
    field_maps: list[FieldMap]


class FieldMapResult(BaseModel):
    name: str
    found: bool
    value_preview: str | list[str] | None
    match_count_estimate: int
    problem: str | None = Field(description="why it was not found, if known")


class FieldMapsChecked(BaseModel):
    url: str
    fetched_via: FetchedVia
    results: list[FieldMapResult]
    warnings: list[str]


def _links(links: str | LinkSelector) -> LinkSelector:
    return LinkSelector(css=links) if isinstance(links, str) else links


def selector_read(spec: FieldSpec, preview: PreviewResult) -> dict[str, Any]:
    result = _result(spec, 0, preview)
    return {
        "url": preview.url,
        "fetched_via": preview.fetched_via.value,
        "selector_spec": {key: value for key, value in spec.document().items() if key not in ("name", "type") or value},
        "value_preview": result["value_preview"],
        "match_count_estimate": result["match_count_estimate"],
        "warnings": [*preview.warnings, *([result["problem"]] if result["problem"] else [])],
    }


def list_read(preview: PreviewResult, request: ListCheck) -> dict[str, Any]:
    survey = preview.survey
    problems = [f"{name} takes too long on this page" for name in preview.problems]
    page_urls, paging_warnings = _next_pages(preview, request)
    return {
        "item_count_estimate": survey["item_count"],
        "sample_item_urls": survey["samples"][: request.max_samples],
        "next_page_url": page_urls[0] if page_urls else None,
        "warnings": [*_link_warnings(survey, request), *paging_warnings, *problems, *preview.warnings],
        "item_links_proposals": [
            {
                "item_links": each["css"],
                "item_count": each["count"],
                "sample_item_urls": each["samples"][: request.max_samples],
                "sample_texts": each["texts"],
                "confidence": each["confidence"],
            }
            for each in survey["proposals"]
        ],
        "pagination_proposals": [
            {"pagination": each["mode"], "page_urls": each["page_urls"], "confidence": each["confidence"]}
            for each in survey["paging"]
        ],
        "page_urls": page_urls,
    }


def _link_warnings(survey: dict[str, Any], request: ListCheck) -> list[str]:
    if request.item_links is None and not survey["proposals"]:
        return ["no repeated items with links were found on this page: give item_links"]
    return list(survey["warnings"])


def _next_pages(preview: PreviewResult, request: ListCheck) -> tuple[list[str], list[str]]:
    """Return the pages that the pagination would visit, and warnings about it."""
    survey, paging = preview.survey, request.paging()
    if paging is None:
        best = survey["paging"][0]["page_urls"] if survey["paging"] and request.item_links is None else []
        return list(best), []
    if paging.mode is PagingMode.NEXT and paging.selector is not None:
        return ([survey["next_page_url"]] if survey["next_page_url"] else []), []
    if paging.mode is PagingMode.NONE:
        return [], []
    if paging.param is not None:
        counter = counter_in(preview.url, f"?{paging.param}")
        own = counter.value if counter is not None else int(paging.step in (None, 1))
        return [add_param(preview.url, paging.param, own + (paging.step or 1))], []
    fitting = [each for each in survey["paging"] if paging.mode in (PagingMode.AUTO, each["mode"])]
    if fitting:
        return list(fitting[0]["page_urls"]), []
    if paging.mode.needs_browser:
        reason = "only a run in the browser can load the following pages"
        return [], [] if preview.fetched_via is Strategy.BROWSER else [f"pagination {paging.mode}: {reason}"]
    return [], [f"pagination {paging.mode}: no next page was recognised, which is correct only on the last page"]


def field_maps_read(fields: tuple[FieldSpec, ...]) -> dict[str, Any]:
    return {"field_maps": [spec.document() for spec in without_parser(fields)]}


def field_maps_checked(fields: tuple[FieldSpec, ...], preview: PreviewResult) -> dict[str, Any]:
    return {
        "url": preview.url,
        "fetched_via": preview.fetched_via.value,
        "results": [_result(spec, index, preview) for index, spec in enumerate(fields) if not spec.is_code],
        "warnings": preview.warnings,
    }


def _result(spec: FieldSpec, index: int, preview: PreviewResult) -> dict[str, Any]:
    value = preview.record[spec.name]
    count = preview.survey["counts"][index]
    is_found = value not in (None, "", [], {})
    if count is None:  # a document without elements has one value or none
        count = len(value) if isinstance(value, list) else int(is_found)
    return {
        "name": spec.name,
        "found": is_found,
        "value_preview": shorten_value(value),
        "match_count_estimate": count,
        "problem": None if is_found else _problem(spec, count, preview),
    }


def _problem(spec: FieldSpec, count: int, preview: PreviewResult) -> str:
    if spec.name in preview.problems:
        return "it takes too long on this page: use a simpler selector or pattern"
    if spec.selector is None:
        return "the pattern is not in the text of the page" if spec.regex else "the page does not describe it itself"
    if spec.jsonpath is not None:
        return "the answer is not JSON, or has nothing at this path"
    if count == 0:
        return "nothing on the page matches it"
    what = f"no attribute {spec.attr!r}" if spec.attr else "no text"
    return f"it matches {count} elements, which have {what}"
