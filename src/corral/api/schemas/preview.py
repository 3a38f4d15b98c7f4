"""Previews and field maps over the wire."""

import json
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StrictBool, model_validator

from corral.api.schemas.common import LinkSelector
from corral.api.schemas.fields import FieldName, FieldRecipe, FieldType, Selector, Strict, field_specs
from corral.domain.fields.parse import parse_field
from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.survey import MAX_SAMPLES, MAX_SNIPPET_CHARS
from corral.domain.net.url import MAX_URL_CHARS
from corral.engine.usecases.preview import MORE_PAGES, MORE_PAGES_S, Looked, PreviewedTemplate

_MAX_PREVIEW_CHARS = 1_000
_MAX_PREVIEW_VALUES = 20
_BROWSER = "look with the browser, after its scripts have run; refused where none is installed"
_SPEC = (
    "a CSS selector, or what a field of a job says: `name`, one of `css` (or `selector`), `xpath` and `jsonpath`, "
    "`attr`, `all`, `regex`"
)
_NOTHING = "nothing on this page was recognised; it may be empty, or no HTML"
Url = Annotated[str, Field(max_length=MAX_URL_CHARS)]
FetchedVia = Literal["http", "browser"]


class PreviewRequest(Strict):
    url: Url
    prefer_browser: StrictBool = Field(False, description=_BROWSER)


class SuggestionRead(BaseModel):
    label: str
    css: str
    confidence: float = Field(ge=0, le=1)
    attr: str | None = Field(description="the attribute that holds it; null where it is the text")
    all: bool = Field(description="every match belongs to it, as the items of a list do")
    regex: str | None = Field(description="searched for in what `css` matches; the first group is the value")
    sample: str = Field(description="what it finds on this page, shortened")
    values: list[str | list[str] | None] = Field(
        description="what it finds on each page of `pages` that was read, in their order, shortened"
    )
    found_on: int = Field(description="how many of these pages have it")


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
        description=f"as a run would find it; at most {_MAX_PREVIEW_CHARS} characters, of a list {_MAX_PREVIEW_VALUES}"
    )
    match_count_estimate: int = Field(
        description="elements that `css` or `xpath` matches; values, where there is a `regex` or a `jsonpath`"
    )
    warnings: list[str]


class ListCheck(PreviewRequest):
    item_links: Selector | LinkSelector = Field(description="selects the links to the items")
    pagination: Selector | LinkSelector | None = Field(None, description="selects the link to the next page")
    max_samples: Annotated[int, Field(strict=True, ge=1, le=MAX_SAMPLES)] = 5

    def specs(self) -> tuple[FieldSpec, ...]:
        links = _links(self.item_links).spec("item_links", every=True)
        if self.pagination is None:
            return (links,)
        return (links, _links(self.pagination).spec("pagination", every=False))


class ListCheckRead(BaseModel):
    item_count_estimate: int
    sample_item_urls: list[str]
    next_page_url: str | None
    warnings: list[str]


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


def preview_read(template: PreviewedTemplate) -> dict[str, Any]:
    looked = template.looked
    found = template.suggestions()
    return {
        "url": looked.url,
        "fetched_via": looked.fetched_via.value,
        "html_snippet": looked.survey["snippet"],
        "suggestions": [_suggestion_read(each) for each in found],
        "pages": [{"url": page.url, "problem": page.problem} for page in template.pages],
        "pages_note": _pages_note(template),
        "warnings": looked.warnings or ([] if found else [_NOTHING]),
    }


def _suggestion_read(suggestion: dict[str, Any]) -> dict[str, Any]:
    told = {name: value for name, value in suggestion.items() if name != "value"}
    return {**told, "values": [_shorten(value) for value in suggestion["values"]]}


def _pages_note(template: PreviewedTemplate) -> str | None:
    read = sum(page.problem is None for page in template.pages) - 1
    if read >= MORE_PAGES:
        return None
    linked = len(template.looked.survey["siblings"])
    if not linked:
        return "no other page of this template is linked from here: the values are those of this page alone"
    return f"{read} of {MORE_PAGES} more pages were read within {MORE_PAGES_S:.0f} s; {linked} are linked from here"


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


def list_read(looked: Looked, max_samples: int) -> dict[str, Any]:
    found = looked.survey
    problems = [f"{name} takes too long on this page" for name in looked.problems]
    return {
        "item_count_estimate": found["item_count"],
        "sample_item_urls": found["samples"][:max_samples],
        "next_page_url": found["next_page_url"],
        "warnings": [*found["warnings"], *problems, *looked.warnings],
    }


def field_maps_read(fields: tuple[FieldSpec, ...]) -> dict[str, Any]:
    return {"field_maps": [spec.document() for spec in fields]}


def field_maps_checked(fields: tuple[FieldSpec, ...], looked: Looked) -> dict[str, Any]:
    return {
        "url": looked.url,
        "fetched_via": looked.fetched_via.value,
        "results": [_result(spec, place, looked) for place, spec in enumerate(fields)],
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
        "value_preview": _shorten(value),
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


def _shorten(value: Any) -> Any:
    if isinstance(value, list):
        return [_text(each) for each in value[:_MAX_PREVIEW_VALUES]]
    return None if value is None else _text(value)


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:_MAX_PREVIEW_CHARS]
