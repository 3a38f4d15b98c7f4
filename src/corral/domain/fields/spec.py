"""A field to fill, with the recipe that finds its value."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from corral.domain.fields.rules import FieldRules, parse_rules

MAX_SELECTOR_CHARS = 1_000
# Facts about the page, which a field may have as its value instead of content.
PAGE_FACTS = ("url", "requested_url", "time", "status")
_SEPARATOR = "."


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field to fill: a bare name, or a name with a recipe.

    One of `css`, `xpath` and `jsonpath` selects elements, `attr` one of their attributes; `regex` searches the selected
    text, or the text of the page. With `fields`, each match is an object: the value is a list of objects with `all`,
    otherwise one object. `const`, `page` and `bare` are recipes of their own. If a recipe finds nothing, or nothing
    that can be converted to the type, the `fallbacks` are tried in order.
    """

    name: str
    css: str | None = None
    attr: str | None = None
    all: bool = False
    regex: str | None = None
    xpath: str | None = None
    jsonpath: str | None = None
    type: str | None = None  # what the value is converted to: see extract.types
    fields: "tuple[FieldSpec, ...]" = ()
    fallbacks: "tuple[FieldSpec, ...]" = ()
    join: str | None = None  # all matches as one text, with this separator
    nth: int | None = None  # number of the match, from 1; negative numbers count from the end
    const: Any = None
    page: str | None = None  # one of PAGE_FACTS
    bare: str | None = None  # look for this name instead of the field's own
    locale: str | None = None  # notation of its values, instead of the language of the page
    rules: FieldRules | None = None
    optional: bool = False  # a page without it is complete
    code: str | None = None  # own code that builds the whole record: see own_code
    file: str | None = None  # file name for errors of the code

    @property
    def is_code(self) -> bool:
        return self.code is not None

    @property
    def selector(self) -> str | None:
        """Return the selector, in whichever language it is."""
        return self.css or self.xpath or self.jsonpath

    @property
    def is_bare(self) -> bool:
        """Return whether the value is found by its name, in the metadata of the page."""
        has_recipe = self.selector or self.regex or self.attr or self.fields or self.page or self.is_code
        return not has_recipe and self.const is None

    @property
    def takes_all(self) -> bool:
        """Return whether all matches are needed."""
        return self.all or self.join is not None or self.nth is not None

    @property
    def depends_on_page(self) -> bool:
        """False if its value does not depend on the content of the page."""
        return self.const is None and self.page is None and not self.is_code

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "FieldSpec":
        """Parse a stored document: see `document`."""
        nested: dict[str, Any] = {
            name: tuple(cls.of(each) for each in document[name]) for name in ("fields", "fallbacks") if name in document
        }
        if document.get("rules") is not None:
            nested["rules"] = parse_rules(document["rules"])
        return cls(**{**document, **nested})

    def document(self) -> dict[str, Any]:
        """Return the field as it is stored and sent to workers.

        Newer parts are left out if they are not used, so that documents equal those of older versions.
        """
        document: dict[str, Any] = dict(zip(_ALWAYS, _get_always(self), strict=True))
        values = _get_sometimes(self)
        if values == _DEFAULTS:
            return document
        document |= {
            name: value
            for name, value in zip(_SOMETIMES, values, strict=True)
            if value is not None and value != () and (name == "const" or value is not False)
        }
        for name in ("fields", "fallbacks"):
            if name in document:
                document[name] = [spec.document() for spec in document[name]]
        if self.rules is not None:
            document["rules"] = self.rules.document()
        return document


def describe_field(spec: FieldSpec) -> str | dict[str, Any]:
    """Return the field as users write it, which `parse.parse_field` reads: only its name if that is all."""
    parts = _parts(spec)
    return {"name": spec.name, **parts} if parts else spec.name


def _parts(spec: FieldSpec) -> dict[str, Any]:
    parts = {name: value for name, value in spec.document().items() if name == "const" or value}
    del parts["name"]
    if spec.fields:
        parts["fields"] = [describe_field(each) for each in spec.fields]
    if spec.fallbacks:
        parts["fallbacks"] = [
            {name: value for name, value in _parts(each).items() if name not in _OF_FIELD} for each in spec.fallbacks
        ]
    return parts


# A fallback inherits these from its field.
_OF_FIELD = ("type", "locale", "all")
_ALWAYS = ("name", "css", "xpath", "jsonpath", "attr", "all", "regex", "type")
_SOMETIMES = tuple(each.name for each in fields(FieldSpec) if each.name not in _ALWAYS)
_DEFAULTS = tuple(each.default for each in fields(FieldSpec) if each.name not in _ALWAYS)
_get_always, _get_sometimes = attrgetter(*_ALWAYS), attrgetter(*_SOMETIMES)


def walk(specs: Iterable[FieldSpec]) -> Iterator[FieldSpec]:
    """Yield each field, the fields inside it, and its fallbacks."""
    for spec in specs:
        yield spec
        yield from walk(spec.fields)
        yield from walk(spec.fallbacks)


def flatten(specs: Iterable[FieldSpec], raw: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the raw values without nesting: `offers.price` is the list of the prices of all offers.

    Return None if the result would not show which value belongs to which object. Fields that do not depend on the
    content of the page are left out.
    """
    flat: dict[str, Any] = {}
    for spec in specs:
        if not spec.depends_on_page:
            continue
        if not spec.fields:
            flat[spec.name] = raw.get(spec.name)
            continue
        inner = _flatten_objects(spec, raw.get(spec.name))
        if inner is None or inner.keys() & flat.keys():
            return None
        flat |= inner
    return flat


def _flatten_objects(spec: FieldSpec, value: Any) -> dict[str, Any] | None:
    objects = value if isinstance(value, list) else [] if value is None else [value]
    rows = [flatten(spec.fields, each) for each in objects]
    names = [_SEPARATOR.join((spec.name, name)) for name in (rows[0] or {} if rows else ())]
    if not names or any(row is None for row in rows):
        return None
    columns = zip(*(row.values() for row in rows if row is not None), strict=True)
    if not spec.all:
        return dict(zip(names, (column[0] for column in columns), strict=True))
    table = dict(zip(names, map(list, columns), strict=True))
    is_whole = all(isinstance(each, str) for column in table.values() for each in column)
    return table if is_whole else None


def unflatten(specs: Iterable[FieldSpec], flat: Mapping[str, Any]) -> dict[str, Any] | None:
    """Reverse `flatten`; return None if the lists for the objects of one field differ in length."""
    raw: dict[str, Any] = {}
    for spec in specs:
        if not spec.depends_on_page:
            continue
        if not spec.fields:
            raw[spec.name] = flat.get(spec.name)
            continue
        prefix = spec.name + _SEPARATOR
        inner = {name.removeprefix(prefix): value for name, value in flat.items() if name.startswith(prefix)}
        value = _unflatten_objects(spec, inner)
        if value is None:
            return None
        raw[spec.name] = value
    return raw


def _unflatten_objects(spec: FieldSpec, inner: Mapping[str, Any]) -> Any:
    if not spec.all:
        return unflatten(spec.fields, inner)
    columns = [value if isinstance(value, list) else [] for value in inner.values()]
    if len({len(column) for column in columns}) > 1:
        return None
    rows = [dict(zip(inner, row, strict=True)) for row in zip(*columns, strict=True)]
    return [unflatten(spec.fields, row) for row in rows]
