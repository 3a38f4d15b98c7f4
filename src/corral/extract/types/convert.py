"""Convert a raw value of a page to a type."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from corral.extract.types.model import Converted, TypeContext, fail
from corral.extract.values import storable

_PACKAGE = "corral.extract.types"
# Module and function of each type. Modules are imported at first use: few crawls have typed fields.
_CONVERTERS = {
    "string": ("texts", "convert_string"),
    "text": ("texts", "convert_text"),
    "html": ("texts", "convert_markup"),
    "markdown": ("texts", "convert_markup"),
    "number": ("numeric.numbers", "convert_number"),
    "integer": ("numeric.numbers", "convert_integer"),
    "decimal": ("numeric.numbers", "convert_decimal"),
    "percentage": ("numeric.numbers", "convert_percentage"),
    "money": ("numeric.money", "convert_money"),
    "rating": ("numeric.rating", "convert_rating"),
    "date": ("dates.dates", "convert_date"),
    "time": ("dates.dates", "convert_time"),
    "datetime": ("dates.dates", "convert_datetime"),
    "duration": ("dates.durations", "convert_duration"),
    "boolean": ("booleans", "convert_boolean"),
    "url": ("web", "convert_url"),
    "image": ("web", "convert_image"),
    "email": ("web", "convert_email"),
    "phone": ("phone", "convert_phone"),
    "address": ("address", "convert_address"),
    "name": ("names", "convert_name"),
    "category": ("category", "convert_category"),
}
TYPE_NAMES = (*_CONVERTERS, "list")
_MAX_ITEMS = 10_000


def convert(raw: Any, type_name: str, context: TypeContext) -> Converted:
    """Convert a raw value to a type, or each item of a list if the type itself is not a list.

    Converting a converted value again returns the same value.
    """
    if raw is None:
        return Converted([] if type_name == "list" else None, 0.0 if type_name != "list" else 1.0)
    if type_name == "list":
        return Converted(storable(raw if isinstance(raw, list) else [raw]))
    if raw == []:
        return Converted([])
    converter = _load(type_name)
    if isinstance(raw, list) and type_name != "category":  # a path is a list itself
        return _convert_items(raw, converter, context)
    return converter(raw, context)


def _load(type_name: str) -> Callable[[Any, TypeContext], Converted]:
    module, function = _CONVERTERS[type_name]
    converter: Callable[[Any, TypeContext], Converted] = getattr(import_module(f"{_PACKAGE}.{module}"), function)
    return converter


def _convert_items(
    raw: list[Any], converter: Callable[[Any, TypeContext], Converted], context: TypeContext
) -> Converted:
    """Convert the items of a list; the problems count those that could not be converted."""
    items = [fail("nested_list") if isinstance(item, list) else converter(item, context) for item in raw[:_MAX_ITEMS]]
    values = [item.value for item in items if item.value is not None]
    problems = dict.fromkeys(problem for item in items for problem in item.problems)
    dropped = len(raw) - len(values)
    if dropped:
        problems[f"dropped_items:{dropped}"] = None
    confidence = min((item.confidence for item in items if item.value is not None), default=1.0 if not raw else 0.0)
    return Converted(values, confidence, tuple(problems))
