"""Render a value of an entity as text, by the name of the field: a price, an address, the name of an author."""

from corral.extract.names.sources.entity import Entity, Value
from corral.extract.names.words.text import clean_value

_IMAGES = ("contenturl", "url", "src", "thumbnailurl")
_NAMES = ("name", "headline", "title", "legalname", "value", "text", "url")
_URL_NAMES = frozenset(("image", "images", "video", "audio", "logo", "license", "pdf"))
_MAX_DEPTH = 4


def texts_of(name: str, value: Value) -> list[str]:
    """Return the texts of a value for a name; an empty list if it has none."""
    if isinstance(value, str):
        return [value]
    if name in _URL_NAMES:
        return _first_of(value, *_IMAGES, "embedurl", "id") or (
            [value.identity] if value.identity and "://" in value.identity else []
        )
    reader = _READERS.get(name)
    return reader(value) if reader is not None else name_of(value)


def name_of(value: Entity) -> list[str]:
    found = _first_of(value, "name", "headline", "title", "legalname")
    if found:
        return found
    person = " ".join(text for key in ("givenname", "additionalname", "familyname") for text in value.texts(key)[:1])
    if person:
        return [person]
    nested = [text for each in value.entities("name")[:1] for text in name_of(each)]
    return nested or _first_of(value, "value", "text", "alternatename")


def _first_of(value: Entity, *keys: str) -> list[str]:
    found = value.first(*keys)
    return [found] if found else []


def _address(value: Entity) -> list[str]:
    """Return an address, or that of a place, as `Street 1, 10115 Berlin, Region, Country`."""
    nested_entities = value.entities("address")
    if nested_entities:
        return _address(nested_entities[0])
    plain_address = value.texts("address")
    if plain_address:
        return plain_address[:1]
    street = ", ".join(value.texts("streetaddress")[:2])
    town = " ".join(text for key in ("postalcode", "addresslocality") for text in value.texts(key)[:1])
    country = value.first("addresscountry") or next(
        (text for each in value.entities("addresscountry") for text in name_of(each)), ""
    )
    parts = [street or value.first("extendedaddress") or "", town, value.first("addressregion") or "", country]
    joined = ", ".join(part for part in parts if part)
    return [joined] if joined else _first_of(value, "name", "text")


def _location(value: Entity) -> list[str]:
    """Return the name of a place, else its address."""
    return _first_of(value, "name") or _address(value)


def _job_location(value: Entity) -> list[str]:
    for each in (*value.entities("address"), value):
        town = [text for key in ("addresslocality", "addressregion") for text in each.texts(key)[:1]]
        country = each.first("addresscountry") or next(
            (text for entity in each.entities("addresscountry") for text in name_of(entity)), None
        )
        parts = [*town, *([country] if country else [])]
        if parts:
            return [", ".join(dict.fromkeys(parts))]
    return name_of(value) or _address(value)


def _amount(value: Entity) -> list[str]:
    """Return a salary as `40000 - 50000 EUR YEAR`."""
    nested_entities = value.entities("value")
    inner = nested_entities[0] if nested_entities else value
    low, high = inner.first("minvalue"), inner.first("maxvalue")
    amount = (
        f"{low} - {high}"
        if low and high and low != high
        else low or high or inner.first("value") or value.first("value")
    )
    parts = (
        amount,
        value.first("currency") or inner.first("currency"),
        inner.first("unittext") or value.first("unittext"),
    )
    joined = " ".join(part for part in parts if part) if amount else ""
    return [joined] if joined else []


def _steps(value: Entity, depth: int = 0) -> list[str]:
    """Return the texts of steps, including those inside sections, in order."""
    inner = value.entities("itemlistelement") or value.entities("steps") or value.entities("step")
    texts = value.texts("itemlistelement")
    if (inner or texts) and depth < _MAX_DEPTH:
        return texts + [text for each in inner for text in _steps(each, depth + 1)]
    return _first_of(value, "text", "description", "name")


def _count(value: Entity) -> list[str]:
    """Return the value of an interaction counter if it counts comments."""
    kind = " ".join(
        value.texts("interactiontype") + [name for each in value.entities("interactiontype") for name in each.types]
    )
    return _first_of(value, "userinteractioncount") if "comment" in kind.lower() else []


def _identifier(value: Entity) -> list[str]:
    kind = (value.first("propertyid", "name") or "").lower()
    return _first_of(value, "value") if "doi" in kind else []


def _quantity(value: Entity) -> list[str]:
    amount = value.first("value")
    if not amount:
        return name_of(value)
    unit = value.first("unittext", "unitcode")
    return [f"{amount} {unit}" if unit else amount]


def _hours(value: Entity) -> list[str]:
    days = [day.rpartition("/")[2] for day in value.texts("dayofweek")]
    times = "-".join(text for key in ("opens", "closes") for text in value.texts(key)[:1])
    joined = clean_value(f"{', '.join(days)} {times}")
    return [joined] if joined else []


def _url(value: Entity) -> list[str]:
    return _first_of(value, "url") or ([value.identity] if value.identity else [])


_READERS = {
    "address": _address,
    "location": _location,
    "job_location": _job_location,
    "salary": _amount,
    "instructions": _steps,
    "comments_count": _count,
    "doi": _identifier,
    "weight": _quantity,
    "size": _quantity,
    "opening_hours": _hours,
    "url": _url,
}
