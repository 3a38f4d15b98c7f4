"""Filter and normalise the values of a name: keep those of the right form, and cut them to the relevant part."""

import re
from collections.abc import Callable

from corral.extract.names.words.dates import find_date, has_digit
from corral.extract.names.words.money import find_money
from corral.extract.names.words.people import is_name, split_names
from corral.extract.names.words.states import availability_of, condition_of

_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>?#]+[^\s\"<>?#.,;)]")
_ISBN = re.compile(r"(?<!\d)(?:97[89][-\s]?)?(?:\d[-\s]?){9}[\dXx](?!\d)")
_GTIN = re.compile(r"(?<!\d)\d(?:[-\s]?\d){7,13}(?!\d)")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
_PHONE = re.compile(r"[+(]?\d[\d\s()/.\u00a0\u2011–-]{4,}\d")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_COUNT = re.compile(r"\d{1,3}(?:[.,\u00a0\u202f' ]\d{3})+|\d+")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*")
_TAGS = re.compile(r"\s*[,;、，؛|]\s*")
_TIME_ONLY = re.compile(r"\d{1,2}[:.h]\d{2}(?::\d{2})?\s*(?:[AP]\.?M\.?|Uhr)?", re.IGNORECASE)
_MAX_CODE_CHARS = 60
_MAX_TAG_CHARS = 80

Shape = Callable[[str], list[str]]


def _search(pattern: re.Pattern[str]) -> Shape:
    return lambda text: [match[0].strip()] if (match := pattern.search(text)) is not None else []


def _author(text: str) -> list[str]:
    if re.match(r"https?:|www\.|/", text) or len(text) > 300:
        return []
    return [name for name in split_names(text) if any(char.isalpha() for char in name) and "://" not in name]


def _date(text: str) -> list[str]:
    if not has_digit(text) or _TIME_ONLY.fullmatch(text):
        return []
    return [text] if len(text) <= 40 else [found] if (found := find_date(text)) else []


def _price(text: str) -> list[str]:
    amounts = find_money(text)
    if amounts:
        return amounts[:1]
    return [text] if has_digit(text) and len(text) <= 30 else []


def _code(text: str) -> list[str]:
    code = re.sub(r"^(?:sku|mpn|isbn|gtin\d*|ean|asin)\s*[:#]\s*", "", text, flags=re.IGNORECASE)
    return [code] if 0 < len(code) <= _MAX_CODE_CHARS and not code.startswith("http") else []


def _availability(text: str) -> list[str]:
    state = availability_of(text)
    if state is None and (count := re.fullmatch(r"\D{0,12}(\d+)\D{0,20}", text)) is not None:
        state = "InStock" if int(count[1]) else "OutOfStock"
    return [state] if state else []


def _doi(text: str) -> list[str]:
    match = _DOI.search(text)
    return [match[0]] if match is not None else []


def _tags(text: str) -> list[str]:
    return [tag for tag in _TAGS.split(text) if 0 < len(tag) <= _MAX_TAG_CHARS]


def _no_url(text: str) -> list[str]:
    return [] if re.match(r"https?://|//", text) else [text]


def _rating(text: str) -> list[str]:
    match = _NUMBER.search(text)
    return [match[0]] if match is not None and len(text) <= 60 else []


_SHAPES: dict[str, Shape] = {
    "author": _author,
    "date": _date,
    "modified": _date,
    "start_date": _date,
    "end_date": _date,
    "price": _price,
    "sku": _code,
    "mpn": _code,
    "gtin": _search(_GTIN),
    "isbn": _search(_ISBN),
    "doi": _doi,
    "email": _search(_EMAIL),
    "phone": _search(_PHONE),
    "fax": _search(_PHONE),
    "rating": _rating,
    "best_rating": _rating,
    "rating_count": _search(_COUNT),
    "review_count": _search(_COUNT),
    "comments_count": _search(_COUNT),
    "word_count": _search(_COUNT),
    "availability": _availability,
    "condition": lambda text: [condition_of(text)],
    "tags": _tags,
    "brand": _no_url,
    "publisher": _no_url,
    "manufacturer": _no_url,
    "company": _no_url,
    "organizer": _no_url,
    "section": _no_url,
    "language": lambda text: [text] if _LANGUAGE.fullmatch(text) else [],
}
_LABEL_CHARS = {
    "author": 200,
    "brand": 60,
    "manufacturer": 80,
    "publisher": 100,
    "currency": 20,
    "category": 150,
    "title": 200,
}
_MAX_LABEL_VALUE_CHARS = 400
# A value with a fixed form is short: patterns are not tried on longer texts.
_MAX_SHAPED_CHARS = 2_000
_MAX_LABEL_AUTHORS = 8
# Lists that may have equal entries.
_REPEATING = frozenset(("ingredients", "instructions", "breadcrumbs"))


def shape(name: str, values: list[str]) -> tuple[str, ...]:
    """Return the values that fit the name, without duplicates."""
    form = _SHAPES.get(name)
    fitting = values if form is None else [each for value in values for each in form(value[:_MAX_SHAPED_CHARS])]
    return tuple(fitting) if name in _REPEATING else tuple(dict.fromkeys(fitting))


def shape_label(name: str, values: tuple[str, ...]) -> tuple[str, ...]:
    """Like `shape`, for values of labels, which are prose more often."""
    max_chars = _LABEL_CHARS.get(name, _MAX_LABEL_VALUE_CHARS)
    if name in ("description", "instructions", "ingredients"):
        max_chars = 100_000
    fitting = shape(name, [value for value in values if len(value) <= max_chars])
    if name == "author":
        names = tuple(each for each in fitting if is_name(each))
        return names if len(names) <= _MAX_LABEL_AUTHORS else ()
    if name in ("date", "modified"):
        return tuple(find_date(each) or each for each in fitting)
    return fitting
