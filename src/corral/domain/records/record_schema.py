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
# A string if a number would lose digits.
_EXACT: _Schema = {"type": ["number", "string"]}
_WEB: _Schema = {"type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://"}
_PART: _Schema = {"type": ["string", "null"]}
_ADDRESS = ("street", "house_number", "postal_code", "city", "region", "country")
_NAME = ("given", "family", "prefix", "suffix")
# The schema of each type. Times have a zone only if the page has one, so their format is not `date-time`.
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
# The property that a range applies to, for types that are stored as objects.
_NUMBERS = {"money": "amount", "rating": "value"}


def describe_records(job: Job) -> _Schema:
    """Return the schema of one record of the job, as JSON exports contain it.

    Every field is present, and null if it was not found, unless a rule requires it. If URL patterns have fields of
    their own, a record has those of its page. Own code may add properties.
    """
    patterns = _fields_of_patterns(job)
    properties: dict[str, _Schema] = {} if job.crawl_mode is CrawlMode.SINGLE else {"url": _TEXT}
    always = list(properties)
    for spec in (*without_parser(job.fields), *patterns):
        schema = describe_values(spec)
        earlier = properties.get(spec.name, schema)
        properties[spec.name] = schema if earlier in (schema, {}) else {"anyOf": [earlier, schema]}
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
    patterns = (job.list_config or {}).get("page_fields") or ()
    return tuple(spec for each in patterns for spec in without_parser(PageFields.of(each).fields))


def describe_values(spec: FieldSpec) -> _Schema:
    """Return the schema of the values of a field."""
    rules = spec.rules or FieldRules()
    schema = _describe_value(spec, rules)
    if spec.type is not None:
        schema = {**schema, "x-corral-type": spec.type}
    if spec.type == "list":
        return _require(schema, rules) if spec.all else _allow_null(schema, rules)
    if spec.all and spec.join is None and spec.nth is None:
        return _require({"type": "array", "items": schema}, rules)
    if schema and _can_be_list(spec):
        schema = {"anyOf": [schema, {"type": "array", "items": schema}]}
    return _allow_null(schema, rules)


def _describe_value(spec: FieldSpec, rules: FieldRules) -> _Schema:
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
    """Return whether a value without a type is a text. Bare names and JSON paths return whatever the page contains."""
    if spec.const is not None:
        return isinstance(spec.const, str)
    if spec.page is not None:
        return bool(_FACTS[spec.page]["type"] == "string")
    return bool(spec.regex) or (bool(spec.css or spec.xpath) and not spec.jsonpath)


def _can_be_list(spec: FieldSpec) -> bool:
    """Return whether the value may be a list, of which each item is converted."""
    if spec.takes_all or spec.fields:
        return False
    return any(each.is_bare or each.jsonpath or isinstance(each.const, list) for each in (spec, *spec.fallbacks))


def _apply_rules(schema: _Schema, rules: FieldRules, type_name: str | None) -> _Schema:
    """Add the rules that JSON Schema can express; ranges of dates become `x-corral-min` and `x-corral-max`."""
    result = dict(schema)
    if rules.min_length is not None:
        result["minLength"] = rules.min_length
    if rules.max_length is not None:
        result["maxLength"] = rules.max_length
    if rules.pattern is not None:
        result = (
            {**result, "allOf": [{"pattern": rules.pattern}]}
            if "pattern" in result
            else {**result, "pattern": rules.pattern}
        )
    if rules.allowed and type_name not in _NUMBERS:
        result["enum"] = list(rules.allowed)
    for name, word in (("min", "minimum"), ("max", "maximum")):
        bound = getattr(rules, name)
        if isinstance(bound, str):
            result[f"x-corral-{name}"] = bound
        elif bound is not None:
            result = _set_bound(result, word, bound, _NUMBERS.get(type_name or ""))
    return result


def _set_bound(schema: _Schema, word: str, bound: float, part: str | None) -> _Schema:
    if part is None:
        return {**schema, word: bound}
    inner = {**schema["properties"][part], word: bound}
    return {**schema, "properties": {**schema["properties"], part: inner}}


def _require(schema: _Schema, rules: FieldRules) -> _Schema:
    return {**schema, "minItems": 1} if rules.required else schema


def _allow_null(schema: _Schema, rules: FieldRules) -> _Schema:
    """Allow null, which stands for a missing value, unless the field is required."""
    if rules.required:
        return schema if schema else {"not": {"type": "null"}}
    if not schema:
        return schema
    return {"anyOf": [schema, {"type": "null"}]}
