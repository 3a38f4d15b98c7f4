"""Parse fields as users write them, in a request or in a recipe file. Errors name the path of the problem."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from corral.domain.errors import BadInput
from corral.domain.fields.own_code import PARSER_NAME
from corral.domain.fields.rules import parse_rules
from corral.domain.fields.spec import PAGE_FACTS, FieldSpec, walk

MAX_NESTING = 5
MAX_SPECS = 500  # including nested fields and fallbacks
MAX_FALLBACKS = 20
_SELECTORS = ("css", "xpath", "jsonpath")
_TEXTS = (*_SELECTORS, "attr", "regex", "join", "page", "bare", "locale", "type")
_ALIASES = {"selector": "css", "any": "fallbacks"}
_FIELD_KEYS = frozenset(
    {
        "name",
        *_TEXTS,
        "all",
        "item",
        "fields",
        "fallbacks",
        "nth",
        "first",
        "last",
        "const",
        "rules",
        "required",
        "optional",
    }
)
# A fallback is another way to the same value: only the field itself declares the type and the rules.
_NOT_IN_FALLBACKS = ("name", "type", "rules", "required", "optional", "fallbacks", "locale", "all")


def parse_fields(entries: Any, *, field: str = "fields") -> tuple[FieldSpec, ...]:
    """Parse a list of fields: bare names, and names with recipes."""
    if not isinstance(entries, list | tuple) or not entries:
        raise BadInput("a list of at least one field is expected", field=field, hint='for example ["title", "price"]')
    specs = tuple(parse_field(each, field=f"{field}.{index}") for index, each in enumerate(entries))
    if sum(1 for _ in walk(specs)) > MAX_SPECS:
        raise BadInput(f"there are more than {MAX_SPECS} recipes in these fields", field=field)
    return specs


def parse_field(entry: Any, *, field: str, depth: int = 1) -> FieldSpec:
    if isinstance(entry, str):
        return FieldSpec(_name(entry, field))
    document = _check_keys(entry, field)
    name = _name(document.get("name"), field)
    spec = replace(_parse_recipe(document, field, depth), name=name)
    others = _parse_fallbacks(document, spec, field, depth)
    if len(others) > MAX_FALLBACKS:
        raise BadInput(f"a field has at most {MAX_FALLBACKS} fallbacks", field=f"{field}.fallbacks")
    return replace(spec, fallbacks=tuple(others))


def _check_keys(entry: Any, field: str) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise BadInput("a field is a name, or an object with a name", field=field, hint='{"name": "price", "css": …}')
    document: dict[str, Any] = {}
    for key, value in entry.items():
        name = _ALIASES.get(key, key)
        if name not in _FIELD_KEYS:
            keys = ", ".join(sorted(_FIELD_KEYS))
            raise BadInput(
                f"{str(key)[:80]!r} is not a key of a field", field=f"{field}.{key}", hint=f"known keys: {keys}"
            )
        if value is None:
            continue
        if name in document and document[name] != value:
            raise BadInput(f"{key} and {name} contradict each other; give one of them", field=field)
        document[name] = value
    return document


def _name(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadInput("a field has a blank name", field=field, hint="name it or remove it")
    if value.strip() == PARSER_NAME:
        raise BadInput(f"{PARSER_NAME} is the name of own code", field=field, hint="name the field otherwise")
    if len(value) > 200 or not value.isprintable():
        raise BadInput("a name has at most 200 printable characters", field=field)
    return value


def _parse_recipe(document: dict[str, Any], field: str, depth: int) -> FieldSpec:
    texts: dict[str, Any] = {name: _text(document[name], f"{field}.{name}") for name in _TEXTS if name in document}
    spec = FieldSpec(
        "",
        **texts,
        all=_flag(document, "all", field) or document.get("type") == "list",
        nth=_nth(document, field),
        const=_const(document, field),
        optional=_is_optional(document, field),
        rules=parse_rules(rules, field=f"{field}.rules") if (rules := _rules(document, field)) else None,
    )
    spec = _with_objects(spec, document, field, depth)
    _check(spec, document, field, is_inside=depth > 1)
    return spec


def _with_selector(spec: FieldSpec, kind: str, text: str) -> FieldSpec:
    selectors: dict[str, Any] = {kind: text}
    return replace(spec, **selectors)


def _with_objects(spec: FieldSpec, document: dict[str, Any], field: str, depth: int) -> FieldSpec:
    if "item" in document:
        item = document["item"]
        selector = {"css": item} if isinstance(item, str) else item
        if not isinstance(selector, Mapping) or len(selector) != 1 or not set(selector) <= set(_SELECTORS):
            raise BadInput("item is a CSS selector, or an object with css, xpath or jsonpath", field=f"{field}.item")
        if spec.selector:
            raise BadInput("item is already the selector of the objects; give one of them", field=f"{field}.item")
        if "fields" not in document:
            raise BadInput("item needs fields, which are read from each match", field=f"{field}.item")
        kind, text = next(iter(selector.items()))
        spec = replace(_with_selector(spec, kind, _text(text, f"{field}.item")), all=True)
    if "fields" not in document:
        return spec
    if depth >= MAX_NESTING:
        raise BadInput(f"objects are nested more than {MAX_NESTING} levels deep", field=f"{field}.fields")
    entries = document["fields"]
    if not isinstance(entries, list | tuple) or not entries:
        raise BadInput("a list of at least one field is expected", field=f"{field}.fields")
    inner = tuple(parse_field(each, field=f"{field}.fields.{n}", depth=depth + 1) for n, each in enumerate(entries))
    check_unique(inner, field=f"{field}.fields")
    return replace(spec, fields=inner)


def _parse_fallbacks(document: dict[str, Any], spec: FieldSpec, field: str, depth: int) -> list[FieldSpec]:
    entries = document.get("fallbacks", ())
    if not isinstance(entries, list | tuple):
        raise BadInput("fallbacks is a list of recipes", field=f"{field}.fallbacks")
    fallbacks = []
    for index, entry in enumerate(entries):
        where = f"{field}.fallbacks.{index}"
        other = _check_keys(entry, where)
        for name in _NOT_IN_FALLBACKS:
            if name in other:
                raise BadInput(
                    f"a fallback has no {name} of its own", field=f"{where}.{name}", hint="set it on the field itself"
                )
        if not other:
            raise BadInput("a fallback is empty", field=where, hint='{"css": …}, {"bare": "price"}')
        recipe = _parse_recipe({**other, "all": spec.all} if "item" not in other else other, where, depth)
        fallbacks.append(replace(recipe, name=spec.name, type=spec.type, locale=spec.locale))
    return fallbacks


def check_unique(specs: Sequence[FieldSpec], *, field: str) -> None:
    names = set()
    for index, spec in enumerate(specs):
        if spec.name.strip() in names:
            message = f"the field {spec.name!r} is asked for twice"
            raise BadInput(message, field=f"{field}.{index}", hint="remove one of them")
        names.add(spec.name.strip())


def _text(value: Any, field: str) -> str:
    is_join = field.endswith(".join")
    if not isinstance(value, str) or (not value and not is_join):
        raise BadInput("a text is expected", field=field)
    return value


def _flag(document: dict[str, Any], name: str, field: str) -> bool:
    value = document.get(name, False)
    if not isinstance(value, bool):
        raise BadInput("true or false is expected", field=f"{field}.{name}")
    return value


def _nth(document: dict[str, Any], field: str) -> int | None:
    chosen = [name for name in ("first", "last", "nth") if name in document and document[name] is not False]
    if len(chosen) > 1:
        raise BadInput(f"{' and '.join(chosen)} both choose a match; give one of them", field=field)
    for name, nth in (("first", 1), ("last", -1)):
        if _flag(document, name, field):
            return nth
    value = document.get("nth")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value == 0 or abs(value) > 10_000:
        hint = "1 is the first match, -1 the last one"
        raise BadInput(
            "nth is a number from 1, or from -1 for matches counted from the end", field=f"{field}.nth", hint=hint
        )
    return value


def _const(document: dict[str, Any], field: str) -> Any:
    value = document.get("const")
    if value is not None and not isinstance(value, str | int | float | bool):
        raise BadInput("a constant is a text, a number, true or false", field=f"{field}.const")
    return value


def _is_optional(document: dict[str, Any], field: str) -> bool:
    """Return whether the field is optional: `optional: true` and `required: false` mean the same."""
    is_required, is_optional = _flag(document, "required", field), _flag(document, "optional", field)
    if is_required and is_optional:
        raise BadInput("required and optional contradict each other; give one of them", field=field)
    return is_optional or document.get("required") is False


def _rules(document: dict[str, Any], field: str) -> dict[str, Any]:
    rules = document.get("rules", {})
    if not isinstance(rules, Mapping):
        raise BadInput("rules is an object", field=f"{field}.rules", hint='{"required": true, "min": 0}')
    return {**rules, "required": True} if _flag(document, "required", field) else dict(rules)


def _check(spec: FieldSpec, document: dict[str, Any], field: str, *, is_inside: bool) -> None:
    """Raise BadInput for keys that exclude each other, the most obvious conflict first."""
    ways = [name for name in ("const", "page", "bare") if getattr(spec, name) is not None]
    if len(ways) > 1 or (ways and (spec.selector or spec.regex or spec.attr or spec.fields)):
        others = [name for name in (*_SELECTORS, "regex", "attr", "fields") if document.get(name)]
        raise BadInput(f"{' and '.join([*ways, *others])} are different ways to a value; give one of them", field=field)
    if spec.page is not None and spec.page not in PAGE_FACTS:
        raise BadInput(f"page is one of {', '.join(PAGE_FACTS)}", field=f"{field}.page")
    if spec.attr is not None and not spec.selector and not is_inside:
        message = "attr takes an attribute of what css or xpath matches; give one of them too"
        raise BadInput(message, field=field, hint='for example {"css": "a", "attr": "href"}')
    if spec.fields:
        strange = [name for name in ("attr", "regex", "join", "type") if getattr(spec, name) is not None]
        if strange:
            raise BadInput(
                f"{strange[0]} goes with a value, and this field is an object", field=f"{field}.{strange[0]}"
            )
    if spec.all and (spec.join is not None or spec.nth is not None):
        name = "join" if spec.join is not None else "nth"
        raise BadInput(f"{name} makes one value of the matches, and all asks for a list", field=f"{field}.{name}")
    if spec.join is not None and spec.nth is not None:
        raise BadInput("nth takes one match, and join takes all of them", field=f"{field}.join")
