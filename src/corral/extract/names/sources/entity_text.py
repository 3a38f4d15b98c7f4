"""The text of a value of an entity under a name: a price of an offer, an address, the name of an author."""

from corral.extract.names.sources.entity import Entity, Value
from corral.extract.names.words.text import clean_value

_IMAGES = ("contenturl", "url", "src", "thumbnailurl")
_NAMES = ("name", "headline", "title", "legalname", "value", "text", "url")
_URL_NAMES = frozenset(("image", "images", "video", "audio", "logo", "license", "pdf"))
_MAX_DEPTH = 4


def texts_of(name: str, value: Value) -> list[str]:
    """None where the value says nothing under this name."""
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
    """`Street 1, 10115 Berlin, Region, Country` of an address, or of the place that has it."""
    held = value.entities("address")
    if held:
        return _address(held[0])
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
    """The name of a place; its address where it has no name."""
    return _first_of(value, "name") or _address(value)


def _job_location(value: Entity) -> list[str]:
    for each in (*value.entities("address"), value):
        town = [text for key in ("addresslocality", "addressregion") for text in each.texts(key)[:1]]
        country = each.first("addresscountry") or next(
            (text for one in each.entities("addresscountry") for text in name_of(one)), None
        )
        parts = [*town, *([country] if country else [])]
        if parts:
            return [", ".join(dict.fromkeys(parts))]
    return name_of(value) or _address(value)


def _amount(value: Entity) -> list[str]:
    """`40000 - 50000 EUR YEAR` of a salary."""
    held = value.entities("value")
    inner = held[0] if held else value
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
    """The texts of steps, those of sections in their order."""
    inner = value.entities("itemlistelement") or value.entities("steps") or value.entities("step")
    texts = value.texts("itemlistelement")
    if (inner or texts) and depth < _MAX_DEPTH:
        return texts + [text for each in inner for text in _steps(each, depth + 1)]
    return _first_of(value, "text", "description", "name")


def _count(value: Entity) -> list[str]:
    """Of the counters of interactions only those that count comments."""
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
