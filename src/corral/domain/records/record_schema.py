"""The schema of a job's records, as JSON Schema 2020-12."""

from typing import Any

from corral.domain.fields.own_code import without_parser
from corral.domain.fields.page_fields import PageFields
from corral.domain.fields.rules import FieldRules
from corral.domain.fields.spec import FieldSpec
from corral.domain.jobs.job import CrawlMode, Job

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_Schema = dict[str, Any]

_TEXT: _Schema = {"type": "string"}
_NUMBER: _Schema = {"type": "number"}
# A string where a number would lose digits.
_EXACT: _Schema = {"type": ["number", "string"]}
_WEB: _Schema = {"type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://"}
_PART: _Schema = {"type": ["string", "null"]}
_ADDRESS = ("street", "house_number", "postal_code", "city", "region", "country")
_NAME = ("given", "family", "prefix", "suffix")
# What a value of each type is. Times have a zone only where the page gives one, so they are no `date-time`.
_TYPES: dict[str, _Schema] = {
    **dict.fromkeys(("string", "text", "html", "markdown", "email", "phone"), _TEXT),
    **dict.fromkeys(("number", "duration"), _NUMBER),
    **dict.fromkeys(("decimal", "percentage"), _EXACT),
    **dict.fromkeys(("url", "image"), _WEB),
    "integer": {"type": "integer"},
    "boolean": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "time": {"type": "string", "pattern": r"^\d{2}:\d{2}"},
    "datetime": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}"},
    "money": {
        "type": "object",
        "properties": {"amount": _EXACT, "currency": _PART},
        "required": ["amount", "currency"],
    },
    "rating": {
        "type": "object",
        "properties": {"value": _EXACT, "best": {"type": ["number", "string", "null"]}, "count": {"type": "integer"}},
        "required": ["value"],
    },
    "address": {"type": "object", "properties": dict.fromkeys(_ADDRESS, _PART)},
    "name": {"type": "object", "properties": dict.fromkeys(_NAME, _PART)},
    "category": {"type": "array", "items": _TEXT},
    "list": {"type": "array"},
}
_FACTS: dict[str, _Schema] = {
    "url": _TEXT,
    "requested_url": _TEXT,
    "time": {"type": "string", "format": "date-time"},
    "status": {"type": "integer"},
}
# The number that a range applies to, of a type that is stored as an object.
_NUMBERS = {"money": "amount", "rating": "value"}


def describe_records(job: Job) -> _Schema:
    """The schema of one record of the job, as its exports in JSON contain it.

    Every field is there, null where it was not found, unless a rule requires it. Where URL patterns have fields of
    their own, a record has those of its page. Own code may add properties.
    """
    patterns = _fields_of_patterns(job)
    properties: dict[str, _Schema] = {} if job.crawl_mode is CrawlMode.SINGLE else {"url": _TEXT}
    always = list(properties)
    for spec in (*without_parser(job.fields), *patterns):
        found = describe_values(spec)
        known = properties.get(spec.name, found)
        properties[spec.name] = found if known in (found, {}) else {"anyOf": [known, found]}
    return {
        "$schema": DIALECT,
        "$id": f"urn:uuid:{job.id}",
        "title": f"Records of job {job.id}",
        "type": "object",
        "properties": properties,
        "required": always if patterns else list(properties),
    }


def _fields_of_patterns(job: Job) -> tuple[FieldSpec, ...]:
    if job.crawl_mode is not CrawlMode.CRAWL:
        return ()
    given = (job.list_config or {}).get("page_fields") or ()
    return tuple(spec for each in given for spec in without_parser(PageFields.of(each).fields))


def describe_values(spec: FieldSpec) -> _Schema:
    """The schema of the values of a field."""
    rules = spec.rules or FieldRules()
    found = _describe_one(spec, rules)
    if spec.type is not None:
        found = {**found, "x-corral-type": spec.type}
    if spec.type == "list":
        return _require(found, rules) if spec.all else _allow_null(found, rules)
    if spec.all and spec.join is None and spec.nth is None:
        return _require({"type": "array", "items": found}, rules)
    if found and _can_be_list(spec):
        found = {"anyOf": [found, {"type": "array", "items": found}]}
    return _allow_null(found, rules)


def _describe_one(spec: FieldSpec, rules: FieldRules) -> _Schema:
    if spec.type is not None:
        return _apply_rules(_TYPES.get(spec.type, {}), rules, spec.type)
    if spec.fields:
        parts = {part.name: describe_values(part) for part in spec.fields}
        return {"type": "object", "properties": parts, "required": list(parts)}
    if spec.const is not None:
        return {"const": spec.const}
    sources = (spec, *spec.fallbacks)
    if all(each.page is not None for each in sources):
        kinds = [_FACTS[each.page] for each in sources if each.page is not None]
        return kinds[0] if all(kind == kinds[0] for kind in kinds) else {}
    is_text = all(_gives_text(each) for each in sources)
    return _apply_rules(_TEXT if is_text else {}, rules, None)


def _gives_text(spec: FieldSpec) -> bool:
    """Whether a value without a type is a text. Names and JSON paths bring whatever the page has there."""
    if spec.const is not None:
        return isinstance(spec.const, str)
    if spec.page is not None:
        return bool(_FACTS[spec.page]["type"] == "string")
    return bool(spec.regex) or (bool(spec.css or spec.xpath) and not spec.jsonpath)


def _can_be_list(spec: FieldSpec) -> bool:
    """Whether one value may be a list: each of its items is converted then."""
    if spec.takes_all or spec.fields:
        return False
    return any(each.is_bare or each.jsonpath or isinstance(each.const, list) for each in (spec, *spec.fallbacks))


def _apply_rules(schema: _Schema, rules: FieldRules, type_name: str | None) -> _Schema:
    """With the rules that JSON Schema has a word for; ranges of dates are in words of our own."""
    told = dict(schema)
    if rules.min_length is not None:
        told["minLength"] = rules.min_length
    if rules.max_length is not None:
        told["maxLength"] = rules.max_length
    if rules.pattern is not None:
        told = (
            {**told, "allOf": [{"pattern": rules.pattern}]} if "pattern" in told else {**told, "pattern": rules.pattern}
        )
    if rules.allowed and type_name not in _NUMBERS:
        told["enum"] = list(rules.allowed)
    for name, word in (("min", "minimum"), ("max", "maximum")):
        bound = getattr(rules, name)
        if isinstance(bound, str):
            told[f"x-corral-{name}"] = bound
        elif bound is not None:
            told = _set_bound(told, word, bound, _NUMBERS.get(type_name or ""))
    return told


def _set_bound(schema: _Schema, word: str, bound: float, part: str | None) -> _Schema:
    if part is None:
        return {**schema, word: bound}
    inner = {**schema["properties"][part], word: bound}
    return {**schema, "properties": {**schema["properties"], part: inner}}


def _require(schema: _Schema, rules: FieldRules) -> _Schema:
    return {**schema, "minItems": 1} if rules.required else schema


def _allow_null(schema: _Schema, rules: FieldRules) -> _Schema:
    """A value that is not there is null."""
    if rules.required:
        return schema if schema else {"not": {"type": "null"}}
    if not schema:
        return schema
    return {"anyOf": [schema, {"type": "null"}]}
