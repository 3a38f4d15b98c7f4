"""Previews and field maps over the wire."""

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
from corral.engine.usecases.preview import MORE_PAGES, Looked
from corral.views.previews import MAX_PREVIEW_CHARS, MAX_PREVIEW_VALUES, shorten_value

_BROWSER = "look with the browser, after its scripts have run; refused where none is installed"
_SPEC = (
    "a CSS selector, or what a field of a job says: `name`, one of `css` (or `selector`), `xpath` and `jsonpath`, "
    "`attr`, `all`, `regex`"
)
Url = Annotated[str, Field(max_length=MAX_URL_CHARS)]
FetchedVia = Literal["http", "browser"]


class PreviewRequest(Strict):
    url: Url
    prefer_browser: StrictBool = Field(False, description=_BROWSER)


class Click(Strict):
    """The element that a person chose; one of the three."""

    css: Selector | None = Field(None, description="its CSS path; the first match is taken")
    xpath: Selector | None = None
    text: Annotated[str, Field(min_length=1, max_length=1_000)] | None = Field(
        None, description="its text; the innermost element that has it is taken"
    )

    @model_validator(mode="after")
    def _says_one_thing(self) -> "Click":
        if sum(each is not None for each in (self.css, self.xpath, self.text)) != 1:
            raise ValueError("give css, xpath or text, one of them")
        return self

    def spec(self) -> FieldSpec:
        return FieldSpec("click", css=self.css, xpath=self.xpath, const=self.text)


class PagePreviewRequest(PreviewRequest):
    click: Click | None = Field(
        None, description="suggest selectors for this element, instead of looking for what the page offers"
    )


class SuggestionRead(BaseModel):
    label: str = Field(
        description="the field it looks like; of a clicked element `element`, or `alike` for all its like"
    )
    css: str | None = Field(description="null where `xpath` selects")
    xpath: str | None = Field(None, description="of a value behind a label: selects by the words of the label")
    confidence: float = Field(ge=0, le=1)
    attr: str | None = Field(description="the attribute that holds it; null where it is the text")
    all: bool = Field(description="every match belongs to it, as the items of a list do")
    regex: str | None = Field(description="searched for in what the selector matches; the first group is the value")
    sample: str = Field(description="what it finds on this page, shortened")
    values: list[str | list[str] | None] = Field(
        description="what it finds on each page of `pages` that was read, in their order, shortened"
    )
    found_on: int = Field(description="how many of these pages have it")
    matches: int | None = Field(None, description="of a clicked element: how many elements of this page it matches")


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
    css: str = Field(description="its place in the page")


class PreviewedPageRead(BaseModel):
    url: str
    problem: str | None = Field(description="why it could not be read; null where it was")


class PreviewRead(BaseModel):
    url: str = Field(description="where the page came from, after redirects")
    fetched_via: FetchedVia
    html_snippet: str = Field(
        description=f"the first {MAX_SNIPPET_CHARS} characters, as they came. Foreign HTML: show it as text only"
    )
    suggestions: list[SuggestionRead]
    lists: list[ListOffer] = Field(description="repeated items of the page, such as the products of a list")
    clicked: ClickedElement | None = Field(None, description="the element that `click` names")
    pages: list[PreviewedPageRead] = Field(
        description=f"this page, and up to {MORE_PAGES} more of its template, found among its links"
    )
    pages_note: str | None = Field(description="why there are fewer pages; null where there are not")
    warnings: list[str]


class SelectorRecipe(FieldRecipe):
    name: FieldName = ""

    def spec(self, field: str = "selector_spec") -> FieldSpec:
        named = {**self.document(), "name": self.name.strip() or "value"}
        return replace(parse_field(named, field=field), name=self.name)


class SelectorSpec(SelectorRecipe):
    @model_validator(mode="after")
    def _says_where(self) -> "SelectorSpec":
        if not self.name.strip() and not (self.spec().selector or self.regex):
            told = "css, xpath, jsonpath, regex, or the name of a field that pages tell by themselves, such as title"
            raise ValueError(f"give {told}")
        return self


class SelectorCheck(PreviewRequest):
    selector_spec: Selector | SelectorSpec = Field(description=_SPEC)

    def spec(self) -> FieldSpec:
        given = self.selector_spec
        return FieldSpec("", given) if isinstance(given, str) else given.spec()


class SelectorCheckRead(BaseModel):
    url: str
    fetched_via: FetchedVia
    selector_spec: dict[str, Any]
    value_preview: str | list[str] | None = Field(
        description=f"as a run would find it; at most {MAX_PREVIEW_CHARS} characters, of a list {MAX_PREVIEW_VALUES}"
    )
    match_count_estimate: int = Field(
        description="elements that `css` or `xpath` matches; values, where there is a `regex` or a `jsonpath`"
    )
    warnings: list[str]


class ListCheck(PreviewRequest):
    item_links: Selector | LinkSelector | None = Field(
        None, description="selects the links to the items; left out, selectors are proposed"
    )
    pagination: Selector | PagingSelector | None = Field(
        None, description="as in list_config; left out, it is proposed and not checked"
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
    item_links_proposals: list[ItemLinksProposal] = Field(description="the best first; none where item_links is given")
    pagination_proposals: list[PaginationProposal] = Field(description="the best first")
    page_urls: list[str] = Field(description="the next pages that the given pagination, or the best one, would visit")


class Mapping(Strict):
    """A field map as older clients write it."""

    field_name: FieldName
    selector_spec: Selector | SelectorRecipe | None = Field(None, description=_SPEC)
    field_type: FieldType | None = Field(None, description="what the value is made into; a list takes every match")

    def spec(self) -> FieldSpec:
        given = self.selector_spec
        found = FieldSpec("", given if isinstance(given, str) else None)
        if isinstance(given, SelectorRecipe):
            found = given.spec()
        if self.field_type == "list":
            found = replace(found, all=True)
        return replace(found, name=self.field_name, type=self.field_type or found.type)


_MAPS = "as `fields` of a job: a name, or a name and how it is found"
Maps = Annotated[list[FieldName | FieldRecipe], Field(min_length=1, max_length=200)]
Mappings = Annotated[list[Mapping], Field(min_length=1, max_length=200)]


class FieldMapsBody(Strict):
    field_maps: Maps | None = Field(None, description=_MAPS)
    mappings: Mappings | None = Field(None, description="the same, as older clients write it")

    @model_validator(mode="after")
    def _says_something(self) -> "FieldMapsBody":
        if (self.field_maps is None) == (self.mappings is None):
            raise ValueError("give field_maps or mappings, one of them")
        return self

    def specs(self) -> tuple[FieldSpec, ...]:
        return field_specs(self.field_maps or [], "field_maps") + tuple(each.spec() for each in self.mappings or ())


class FieldMapsCheck(Strict):
    field_maps: Maps | None = Field(None, description="left out: those that the job has")
    mappings: Mappings | None = Field(None, description="the same, as older clients write it")
    prefer_browser: StrictBool = Field(False, description=_BROWSER)

    @model_validator(mode="after")
    def _says_one_thing(self) -> "FieldMapsCheck":
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
    problem: str | None = Field(description="why it was not found, where that can be told")


class FieldMapsChecked(BaseModel):
    url: str
    fetched_via: FetchedVia
    results: list[FieldMapResult]
    warnings: list[str]


def _links(given: str | LinkSelector) -> LinkSelector:
    return LinkSelector(css=given) if isinstance(given, str) else given


def selector_read(spec: FieldSpec, looked: Looked) -> dict[str, Any]:
    result = _result(spec, 0, looked)
    return {
        "url": looked.url,
        "fetched_via": looked.fetched_via.value,
        "selector_spec": {key: value for key, value in spec.document().items() if key not in ("name", "type") or value},
        "value_preview": result["value_preview"],
        "match_count_estimate": result["match_count_estimate"],
        "warnings": [*looked.warnings, *([result["problem"]] if result["problem"] else [])],
    }


def list_read(looked: Looked, asked: ListCheck) -> dict[str, Any]:
    found = looked.survey
    problems = [f"{name} takes too long on this page" for name in looked.problems]
    page_urls, paging_warnings = _next_pages(looked, asked)
    return {
        "item_count_estimate": found["item_count"],
        "sample_item_urls": found["samples"][: asked.max_samples],
        "next_page_url": page_urls[0] if page_urls else None,
        "warnings": [*_link_warnings(found, asked), *paging_warnings, *problems, *looked.warnings],
        "item_links_proposals": [
            {
                "item_links": each["css"],
                "item_count": each["count"],
                "sample_item_urls": each["samples"][: asked.max_samples],
                "sample_texts": each["texts"],
                "confidence": each["confidence"],
            }
            for each in found["proposals"]
        ],
        "pagination_proposals": [
            {"pagination": each["mode"], "page_urls": each["page_urls"], "confidence": each["confidence"]}
            for each in found["paging"]
        ],
        "page_urls": page_urls,
    }


def _link_warnings(found: dict[str, Any], asked: ListCheck) -> list[str]:
    if asked.item_links is None and not found["proposals"]:
        return ["no repeated items with links were found on this page: give item_links"]
    return list(found["warnings"])


def _next_pages(looked: Looked, asked: ListCheck) -> tuple[list[str], list[str]]:
    """The pages that the pagination would visit, and what is odd about it."""
    found, paging = looked.survey, asked.paging()
    if paging is None:
        best = found["paging"][0]["page_urls"] if found["paging"] and asked.item_links is None else []
        return list(best), []
    if paging.mode is PagingMode.NEXT and paging.selector is not None:
        return ([found["next_page_url"]] if found["next_page_url"] else []), []
    if paging.mode is PagingMode.NONE:
        return [], []
    if paging.param is not None:
        counter = counter_in(looked.url, f"?{paging.param}")
        own = counter.value if counter is not None else int(paging.step in (None, 1))
        return [add_param(looked.url, paging.param, own + (paging.step or 1))], []
    fitting = [each for each in found["paging"] if paging.mode in (PagingMode.AUTO, each["mode"])]
    if fitting:
        return list(fitting[0]["page_urls"]), []
    if paging.mode.needs_browser:
        told = "only a run in the browser shows how the list goes on"
        return [], [] if looked.fetched_via is Strategy.BROWSER else [f"pagination {paging.mode}: {told}"]
    return [], [f"pagination {paging.mode}: no next page was recognised, which is right on the last page only"]


def field_maps_read(fields: tuple[FieldSpec, ...]) -> dict[str, Any]:
    return {"field_maps": [spec.document() for spec in without_parser(fields)]}


def field_maps_checked(fields: tuple[FieldSpec, ...], looked: Looked) -> dict[str, Any]:
    return {
        "url": looked.url,
        "fetched_via": looked.fetched_via.value,
        "results": [_result(spec, place, looked) for place, spec in enumerate(fields) if not spec.is_code],
        "warnings": looked.warnings,
    }


def _result(spec: FieldSpec, place: int, looked: Looked) -> dict[str, Any]:
    value = looked.record[spec.name]
    count = looked.survey["counts"][place]
    is_found = value not in (None, "", [], {})
    if count is None:  # a document without elements has a value or has not
        count = len(value) if isinstance(value, list) else int(is_found)
    return {
        "name": spec.name,
        "found": is_found,
        "value_preview": shorten_value(value),
        "match_count_estimate": count,
        "problem": None if is_found else _problem(spec, count, looked),
    }


def _problem(spec: FieldSpec, count: int, looked: Looked) -> str:
    if spec.name in looked.problems:
        return "it takes too long on this page: use a simpler selector or pattern"
    if spec.selector is None:
        return "the pattern is not in the text of the page" if spec.regex else "the page does not tell it by itself"
    if spec.jsonpath is not None:
        return "the answer is no JSON, or has nothing at this path"
    if count == 0:
        return "nothing on the page matches it"
    what = f"no attribute {spec.attr!r}" if spec.attr else "no text"
    return f"it matches {count} elements, which have {what}"
