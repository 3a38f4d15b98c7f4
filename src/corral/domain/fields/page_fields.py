"""The fields of pages by URL pattern, and recipe files."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.fields.own_code import make_parser
from corral.domain.fields.parse import check_unique, parse_fields
from corral.domain.fields.record_key import check_record_key, parse_record_key
from corral.domain.fields.spec import FieldSpec
from corral.domain.net.url_pattern import UrlPattern, parse_pattern

MAX_PATTERNS = 100
_FILE_KEYS = frozenset({"fields", "pages", "only_fields", "key", "parse"})
ReadCode = Callable[[str], str]  # returns the text of a file that a recipe file names


@dataclass(frozen=True)
class PageFields:
    """The fields of the pages whose address matches a pattern."""

    match: str
    fields: tuple[FieldSpec, ...]

    @cached_property
    def _pattern(self) -> UrlPattern:
        return UrlPattern(self.match)

    def matches(self, url: str) -> bool:
        """Return whether the pattern matches a canonical URL."""
        return self._pattern.matches(url, url.find("/", url.find("//") + 2))

    def add_to(self, common: tuple[FieldSpec, ...]) -> tuple[FieldSpec, ...]:
        """Return both sets of fields. If names clash, or both have own code, those of the pattern win."""
        own = {spec.name for spec in self.fields}
        has_code = any(spec.is_code for spec in self.fields)
        others = (spec for spec in common if spec.name not in own and not (has_code and spec.is_code))
        return (*others, *self.fields)

    def document(self) -> dict[str, Any]:
        return {"match": self.match, "fields": [spec.document() for spec in self.fields]}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "PageFields":
        return cls(str(document["match"]), tuple(FieldSpec.of(each) for each in document["fields"]))


def parse_page_fields(value: object) -> tuple[dict[str, Any], ...]:
    """Parse documents of `PageFields`; the code that uses the fields checks their content."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(pattern, Mapping) for pattern in value):
        hint = 'write [{"match": "/product/*", "fields": ["price"]}]'
        raise BadInput("page_fields is a list of patterns with their fields", field="page_fields", hint=hint)
    if len(value) > MAX_PATTERNS:
        raise BadInput(f"there are more than {MAX_PATTERNS} patterns", field="page_fields")
    for index, pattern in enumerate(value):
        where = f"page_fields.{index}"
        if (
            set(pattern) != {"match", "fields"}
            or not isinstance(pattern["fields"], list | tuple)
            or not pattern["fields"]
        ):
            raise BadInput("a pattern has `match` and `fields`", field=where)
        parse_pattern(pattern["match"], f"{where}.match")
    return tuple({"match": pattern["match"], "fields": [dict(spec) for spec in pattern["fields"]]} for pattern in value)


def choose_fields(url: str, patterns: Iterable[PageFields], common: tuple[FieldSpec, ...]) -> tuple[FieldSpec, ...]:
    """Return the fields of every page, with those of the first pattern that matches this URL."""
    return next((each.add_to(common) for each in patterns if each.matches(url)), common)


@dataclass(frozen=True, slots=True)
class RecipeFile:
    """`fields` apply to a single page, and to all pages of a crawl; `pages` adds those of URL patterns."""

    fields: tuple[FieldSpec, ...] = ()
    pages: tuple[PageFields, ...] = ()
    only_fields: bool = False  # a record has only these fields and its URL
    key: tuple[str, ...] = ()  # see Job.record_key


def parse_recipe_file(document: Any, read_code: ReadCode) -> RecipeFile:
    """Parse a recipe file. Its key `parse` names a file with own code, which `read_code` reads."""
    if not isinstance(document, Mapping) or not document:
        raise BadInput("a recipe file is a mapping", field="recipe", hint="for example `fields: [title, price]`")
    for name in document:
        if name not in _FILE_KEYS:
            hint = f"known keys: {', '.join(sorted(_FILE_KEYS))}"
            raise BadInput(f"{str(name)[:80]!r} is no part of a recipe", field=str(name)[:80], hint=hint)
    if not isinstance(only := document.get("only_fields", False), bool):
        raise BadInput("true or false is expected", field="only_fields")
    fields = _fields_and_code(document, "", read_code)
    pages = _pages(document.get("pages") or [], read_code)
    if not fields and not pages:
        hint = "for example `fields: [title]`, or `parse: shop.py`"
        raise BadInput("a recipe names at least one field", field="fields", hint=hint)
    key = parse_record_key(document.get("key"), field="key")
    check_record_key(key, (*fields, *(spec for each in pages for spec in each.fields)), field="key")
    return RecipeFile(fields, pages, only, key)


def _fields_and_code(document: Mapping[str, Any], where: str, read_code: ReadCode) -> tuple[FieldSpec, ...]:
    specs = _fields(document["fields"], f"{where}fields") if document.get("fields") is not None else ()
    file = document.get("parse")
    if file is None:
        return specs
    if not isinstance(file, str) or not file.strip():
        raise BadInput("parse is the path of a Python file", field=f"{where}parse", hint="for example `parse: shop.py`")
    return (*specs, make_parser(read_code(file), file, field=f"{where}parse"))


def _pages(patterns: Any, read_code: ReadCode) -> tuple[PageFields, ...]:
    are_patterns = [
        isinstance(pattern, Mapping) and bool(pattern.keys() & {"fields", "parse"}) for pattern in _list(patterns)
    ]
    if not all(are_patterns) or not isinstance(patterns, list):
        hint = "write `- match: /product/*` with its `fields`, or with `parse`"
        raise BadInput("pages is a list of patterns with their fields", field="pages", hint=hint)
    documents = []
    for index, pattern in enumerate(patterns):
        specs = _fields_and_code(pattern, f"pages.{index}.", read_code)
        rest = {name: value for name, value in pattern.items() if name != "parse"}
        documents.append({**rest, "fields": [spec.document() for spec in specs]})
    try:
        return tuple(PageFields.of(pattern) for pattern in parse_page_fields(documents))
    except BadInput as problem:
        problem.field = (problem.field or "").replace("page_fields", "pages")
        raise


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _fields(value: Any, field: str) -> tuple[FieldSpec, ...]:
    specs = parse_fields(value, field=field)
    check_unique(specs, field=field)
    return specs
