"""Recipes: the API calls that fill a page, and the location of each field in their answers. Pure: fetches nothing."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.json_path import ABSENT, Path, at, parse_path, path_text
from corral.domain.net.url import Target, parse_target
from corral.domain.sites.recipe.shape import shape_of
from corral.domain.sites.recipe.text import (
    Template,
    check_slots,
    fill,
    fill_document,
    fragment_of,
    parse_template,
    query_pairs,
    render_template,
    segments,
    slots_of,
    template_text,
)
from corral.domain.sites.site import fields_key

MAX_CALLS = 5
MAX_FIELDS = 200
_MAX_TEXT = 8192
_MAX_PATTERN = 2048
_MAX_DEPTH = 32
# An allow list: headers that identify a visitor must never become part of a recipe.
HEADERS = frozenset({"accept", "content-type", "x-requested-with"})
METHODS = frozenset({"GET", "POST"})
# Newer parts of a field that select its raw value; types and rules apply afterwards.
_NEWER_PARTS = frozenset({"fields", "fallbacks", "join", "nth", "bare"})
# Tracking parameters, which do not change the page.
_TRACKING = frozenset({"gclid", "fbclid", "msclkid", "ref"})


@dataclass(frozen=True, slots=True)
class CallTemplate:
    method: str
    url: str
    headers: Mapping[str, str]
    body: Any = None


@dataclass(frozen=True, slots=True)
class FieldSource:
    """The call and the template of a field; with `each`, applied to every element of that array."""

    call: int
    value: Template
    each: Path | None = None


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    method: str
    url: str
    headers: dict[str, str]
    body: Any = None


@dataclass(frozen=True, slots=True)
class ShapeChange:
    """A field that is not at the location that the recipe expects."""

    field: str
    what: str


@dataclass(frozen=True, slots=True)
class Recipe:
    url_pattern: str
    calls: tuple[CallTemplate, ...]
    fields: Mapping[str, FieldSource]

    def document(self) -> dict[str, Any]:
        return {
            "calls": [
                {"method": call.method, "url": call.url, "headers": dict(call.headers), "body": call.body}
                for call in self.calls
            ],
            "fields": {name: _source_document(source) for name, source in sorted(self.fields.items())},
        }

    def requests(self, target: Target) -> list[ReplayRequest] | ShapeChange:
        """Return the calls to make for this page."""
        if not matches(self.url_pattern, target):
            return ShapeChange("url", f"the recipe is for {self.url_pattern}")
        slots = slots_of(target)
        requests = []
        for call in self.calls:
            url = fill(call.url, slots, quoted=True)
            body = fill_document(call.body, slots)
            if url is None or body is ABSENT:
                return ShapeChange("url", "the page's URL lacks a part that the recipe needs")
            requests.append(ReplayRequest(call.method, url, dict(call.headers), body))
        return requests

    def read(self, answers: Sequence[Any], target: Target) -> dict[str, Any] | ShapeChange:
        """Read the fields from the answers, given in the order of the requests; empty fields are None."""
        slots = slots_of(target)
        values: dict[str, Any] = {}
        for name, source in self.fields.items():
            value = _read(source, answers[source.call], slots)
            if value is ABSENT:
                where = path_text(source.each or ()) if source.each is not None else template_text(source.value)
                return ShapeChange(name, f"nothing is at {where[:200]}")
            values[name] = value
        return values


@dataclass(frozen=True, slots=True)
class RecordedRecipe:
    """A recipe that a browser run recorded and that is to be stored."""

    host: str
    fields_key: str
    url_pattern: str
    document: dict[str, Any]
    memory_key: str  # key of these fields in the site memory


@dataclass(frozen=True, slots=True)
class StoredRecipe:
    id: str
    host: str
    url_pattern: str
    fields_key: str
    document: dict[str, Any]
    pinned: bool  # by a person; browser runs do not overwrite a pinned recipe
    version: int
    created_at: datetime
    updated_at: datetime
    failed_shape: str | None = None  # shape of its calls at the last failed replay

    @property
    def is_offered(self) -> bool:
        """False after a failure, until a person or a recording of another shape replaces the recipe."""
        return self.failed_shape is None or self.failed_shape != shape_of(self.document)

    def payload(self) -> dict[str, Any]:
        """Return the part of the recipe that is copied into a run."""
        return {"id": self.id, "version": self.version, "url_pattern": self.url_pattern, **self.document}


def recipe_key(fields: Iterable[FieldSpec]) -> str:
    """Return the key of a set of fields: the key of the site memory plus the selectors of the fields."""
    return fields_key(
        spec.name
        if spec.is_bare and not spec.all and not _NEWER_PARTS & spec.document().keys()
        else f"{spec.name}\x1e{spec.css}\x1e{spec.attr}\x1e{spec.all}" + _beyond_css(spec)
        for spec in fields
    )


def _beyond_css(spec: FieldSpec) -> str:
    """Mark each kind of selector with its own sign, so that the keys of fields without one stay stable."""
    selectors = (("", spec.regex), ("x:", spec.xpath), ("j:", spec.jsonpath))
    newer = {name: value for name, value in spec.document().items() if name in _NEWER_PARTS}
    more = f"\x1e{json.dumps(newer, sort_keys=True, default=str)}" if newer else ""
    return "".join(f"\x1e{mark}{text}" for mark, text in selectors if text) + more


def for_page(recipes: Iterable[StoredRecipe], target: Target) -> StoredRecipe | None:
    """Choose the recipe for a page: pinned ones first, then the most specific URL pattern."""
    fitting = [recipe for recipe in recipes if recipe.is_offered and matches(recipe.url_pattern, target)]
    return min(fitting, key=lambda each: (not each.pinned, each.url_pattern.count("*"), each.id), default=None)


def _read(source: FieldSource, answer: Any, slots: Mapping[str, str]) -> Any:
    if source.each is None:
        return render_template(source.value, answer, slots)
    elements = at(answer, source.each, slots)
    if not isinstance(elements, list):
        return ABSENT
    texts = [render_template(source.value, element, slots) for element in elements]
    if texts and all(text is ABSENT for text in texts):
        return ABSENT
    return [text for text in texts if isinstance(text, str)]


def _source_document(source: FieldSource) -> dict[str, Any]:
    each = {} if source.each is None else {"each": path_text(source.each)}
    return {"call": source.call, **each, "value": template_text(source.value)}


# -- which pages a recipe applies to ------------------------------------------------------------------------


def _literal(segment: str) -> str:
    return quote(segment, safe="")


def _page_pairs(target: Target) -> list[tuple[str, str]]:
    """Return the query parameters that select a page, as patterns write them."""
    pairs = query_pairs(target.query)
    counting = [pair for pair in pairs if pair[0] not in _TRACKING and not pair[0].startswith("utm_")]
    return sorted((_literal(name), _literal(value)) for name, value in counting)


def pattern_of(target: Target, varying: Iterable[str]) -> str:
    """Return the target's path, query and fragment with `*` for the parts that these slots name."""
    free = {".".join(slot.split(".")[:2]) for slot in varying}

    def pattern_segments(kind: str, text: str) -> str:
        pieces = enumerate(segments(text))
        return "/".join("*" if f"{kind}.{index}" in free else _literal(piece) for index, piece in pieces)

    pairs = "&".join(f"{name}={'*' if f'query.{name}' in free else value}" for name, value in _page_pairs(target))
    fragment = pattern_segments("hash", fragment_of(target))
    return (
        f"/{pattern_segments('path', target.path)}"
        + (f"?{pairs}" if pairs else "")
        + (f"#{fragment}" if fragment else "")
    )


def matches(pattern: str, target: Target) -> bool:
    before, _, fragment = pattern.partition("#")
    path, _, query = before.partition("?")
    if not _same(path, segments(target.path)) or not _same(fragment, segments(fragment_of(target))):
        return False
    wanted = [tuple(piece.partition("=")[::2]) for piece in query.split("&")] if query else []
    actual = _page_pairs(target)
    return len(wanted) == len(actual) and all(
        name == key and value in ("*", text) for (key, value), (name, text) in zip(sorted(wanted), actual, strict=True)
    )


def _same(pattern: str, actual: list[str]) -> bool:
    wanted = [piece for piece in pattern.strip("/").split("/") if piece]
    return len(wanted) == len(actual) and all(
        piece in ("*", _literal(text)) for piece, text in zip(wanted, actual, strict=True)
    )


# -- from a document ----------------------------------------------------------------------------------------


def recipe_of(url_pattern: str, document: Any) -> Recipe:
    """Parse a recipe, or raise BadInput naming the problem."""
    calls, fields = _entry(document, "calls", list, "document"), _entry(document, "fields", dict, "document")
    _refuse_other_keys(document, {"calls", "fields"}, "document")
    _check_pattern(url_pattern)
    if not 1 <= len(calls) <= MAX_CALLS:
        raise BadInput(f"a recipe has 1 to {MAX_CALLS} calls", field="document.calls")
    if not 1 <= len(fields) <= MAX_FIELDS:
        raise BadInput(f"a recipe has 1 to {MAX_FIELDS} fields", field="document.fields")
    parsed = tuple(_call_of(call, f"document.calls.{index}") for index, call in enumerate(calls))
    sources = {
        name: _source_of(cell, len(parsed), f"document.fields.{_escape_name(name)}") for name, cell in fields.items()
    }
    return Recipe(url_pattern, parsed, sources)


def _escape_name(name: str) -> str:
    """Make a key safe for an error message."""
    return name[:80].encode("ascii", "backslashreplace").decode()


def _check_pattern(pattern: str) -> None:
    if not pattern.startswith("/") or len(pattern) > _MAX_PATTERN or not pattern.isprintable():
        raise BadInput("a URL pattern is a path such as /shop/*", field="url_pattern")


def _entry(document: Any, key: str, kind: type, field: str, *, default: Any = None) -> Any:
    if not isinstance(document, dict):
        raise BadInput("expected an object", field=field)
    value = document.get(key, default)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        names = {list: "a list", dict: "an object", str: "a text", int: "a whole number"}
        raise BadInput(f"{key} must be {names[kind]}", field=f"{field}.{key}")
    if isinstance(value, str) and len(value) > _MAX_TEXT:
        raise BadInput(f"{key} has more than {_MAX_TEXT} characters", field=f"{field}.{key}")
    return value


def _refuse_other_keys(document: dict[str, Any], keys: set[str], field: str) -> None:
    unknown = sorted(document.keys() - keys)
    if unknown:
        raise BadInput(f"unknown key {_escape_name(unknown[0])!r}", field=f"{field}.{_escape_name(unknown[0])}")


def _call_of(cell: Any, field: str) -> CallTemplate:
    method = _entry(cell, "method", str, field, default="GET")
    url = check_slots(_entry(cell, "url", str, field), f"{field}.url")
    headers = _entry(cell, "headers", dict, field, default={})
    _refuse_other_keys(cell, {"method", "url", "headers", "body"}, field)
    if method not in METHODS:
        raise BadInput(f"the method is one of {', '.join(sorted(METHODS))}", field=f"{field}.method")
    body = cell.get("body")
    if method == "GET" and body is not None:
        raise BadInput("a GET has no body", field=f"{field}.body")
    _check_url(url, f"{field}.url")
    _check_body(body, f"{field}.body", _MAX_DEPTH)
    return CallTemplate(method, url, _check_headers(headers, f"{field}.headers"), body)


def _check_url(url: str, field: str) -> None:
    """Refuse slots in the host: the URL of a page must not decide where a recipe sends its calls."""
    rest = url.removeprefix("{origin}")
    is_own = rest != url
    whole = f"http://host.invalid{rest}" if is_own else url
    authority = whole.partition("//")[2].partition("/")[0].partition("?")[0]
    if "{" in authority or (is_own and rest[:1] not in ("", "/", "?")):
        raise BadInput("the host of a call is {origin} or written out", field=field, hint="{origin}/api/items/{path.1}")
    parse_target(whole.replace("{", "").replace("}", ""), field=field, max_chars=_MAX_TEXT + 100)


def _check_headers(headers: dict[str, Any], field: str) -> dict[str, str]:
    for name, value in headers.items():
        if name.lower() not in HEADERS:
            allowed = ", ".join(sorted(HEADERS))
            raise BadInput(f"a recipe may only send {allowed}", field=f"{field}.{_escape_name(name)}")
        if not isinstance(value, str) or len(value) > 500 or not value.isprintable() or not value.isascii():
            raise BadInput("a header is a line of ASCII text", field=f"{field}.{_escape_name(name)}")
    return {name.lower(): value for name, value in headers.items()}


def _check_body(value: Any, field: str, depth: int) -> None:
    if depth == 0:
        raise BadInput("the body is nested too deeply", field=field)
    if isinstance(value, dict):
        for key, each in value.items():
            _check_body(each, f"{field}.{_escape_name(key)}", depth - 1)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _check_body(each, f"{field}.{index}", depth - 1)
    elif isinstance(value, str):
        check_slots(value.replace(":number}", "}"), field)


def _source_of(cell: Any, calls: int, field: str) -> FieldSource:
    call = _entry(cell, "call", int, field, default=0)
    value = parse_template(_entry(cell, "value", str, field), f"{field}.value")
    _refuse_other_keys(cell, {"call", "value", "each"}, field)
    if not 0 <= call < calls:
        raise BadInput(f"there is no call {call}; they are counted from 0", field=f"{field}.call")
    each = parse_path(_entry(cell, "each", str, field), f"{field}.each") if "each" in cell else None
    return FieldSource(call, value, each)
