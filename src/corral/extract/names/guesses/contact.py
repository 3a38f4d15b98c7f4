"""Guess postal addresses, telephone numbers and e-mail addresses."""

import re
from collections.abc import Iterator
from itertools import islice

from selectolax.lexbor import LexborNode

from corral.extract.names.guesses.elements import NOTHING, Guess, PageElements, describe
from corral.extract.names.guesses.zones import is_beside, is_hidden
from corral.extract.names.words.dates import find_date
from corral.extract.page import normalize_space

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")
_LABELLED_PHONE = re.compile(
    r"(?<!\w)(?:tel(?:efon[eo]?|éfono|ephone)?|phone|fon|tél(?:éphone)?|tlf|tfn|puh|тел(?:ефон)?|電話|电话|전화"
    r"|هاتف|ت|טל|טלפון"
    r"|โทร|☎|📞)\.?\s*[:：]?\s*([+(]?\d[\d\s()/.\u00a0–-]{4,20}\d)",
    re.IGNORECASE,
)
# `38118 Braunschweig`, `1017 CE Amsterdam`, `00-950 Warszawa`, `3030-181 Coimbra`, `110 00 Praha`.
_TOWN = r"(?:[A-Z]{1,2}-)?(?:\d{4}-\d{3}|\d{2}-\d{3}|\d{3}\s\d{2}|\d{4}\s?[A-Z]{2}|\d{4,5})\s+[^\W\d_][^\d,;:|]{1,38}"
_TOWN_LINE = re.compile(rf"{_TOWN}(?:,\s*[^\d,;:|]{{2,30}})?")
_STREET_LINE = re.compile(
    r"[^\W\d_][^:;|]{2,50}?\s\d{1,4}\s?[a-zA-Z]?(?:\s?[-–/]\s?\d{1,4})?|\d{1,4}\s?(?:bis|ter)?,?\s[^\W\d_][^:;"
    r"|\d]{3,50}"
)
_ONE_LINE = re.compile(rf"(?:{_STREET_LINE.pattern}),\s*{_TOWN}")
_MAX_TEXTS = 20_000


def guess_email(elements: PageElements) -> Guess:
    nodes = elements.page.tree.css('a[href^="mailto:" i]')[:50]
    for node in sorted(nodes, key=is_beside):
        match = _EMAIL.search((node.attributes.get("href") or "").replace("%40", "@"))
        if match is not None:
            return [match[0]], "mailto"
    return NOTHING


def guess_phone(elements: PageElements) -> Guess:
    for node in sorted(elements.page.tree.css('a[href^="tel:" i], a[href^="callto:" i]')[:50], key=is_beside):
        text = elements.page.text_of(node) or ""
        number = (node.attributes.get("href") or "").partition(":")[2].strip()
        found = re.search(r"[+(]?\d[\d\s()/.+-]{4,}\d", text)
        return [found[0] if found is not None else number], "tel"
    labelled = [
        (node, match[1]) for node, text in _texts(elements) if (match := _LABELLED_PHONE.search(text)) is not None
    ]
    return _first_of_subject(labelled)


def guess_address(elements: PageElements) -> Guess:
    for node in elements.page.tree.css(
        "address, .adr, .address, .adresse, .anschrift, .direccion, .indirizzo, .adres, [class*='postal-address']"
    )[:10]:
        text = elements.page.text_of(node) or ""
        text = _EMAIL.sub("", text)
        if 10 <= len(text) <= 250 and re.search(r"\d", text) and not find_date(text):
            return [text], describe("address", node)
    return _first_of_subject(list(_address_lines(elements)))


def _address_lines(elements: PageElements) -> Iterator[tuple[LexborNode, str]]:
    """Yield addresses: a street with a number, then, on the next line or after a comma, a postal code with a town."""
    before = ""
    for node, text in _texts(elements):
        if len(text) <= 120 and _ONE_LINE.fullmatch(text):
            yield node, text
        elif len(text) <= 80 and _TOWN_LINE.fullmatch(text) and _STREET_LINE.fullmatch(before):
            yield node, f"{before}, {text}"
        before = text if len(text) <= 80 else ""


def _texts(elements: PageElements) -> Iterator[tuple[LexborNode, str]]:
    body = elements.page.tree.body
    if body is None:
        return
    for node in islice(body.traverse(include_text=True), _MAX_TEXTS):
        if node.tag == "-text" and not is_hidden(node.parent):
            text = normalize_space(node.text_content or "")
            if text and len(text) <= 400:
                yield node, text.strip(" ,")


def _first_of_subject(found: list[tuple[LexborNode, str]]) -> Guess:
    best = min(found, key=lambda each: is_beside(each[0].parent), default=None)
    return ([best[1]], "text") if best is not None else NOTHING
