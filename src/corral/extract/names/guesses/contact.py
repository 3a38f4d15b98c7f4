"""Addresses, telephone numbers and e-mail addresses."""

import re

from corral.extract.names.guesses.elements import NOTHING, Found, PageElements, describe
from corral.extract.names.guesses.zones import is_beside
from corral.extract.names.words.dates import find_date

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")


def guess_email(elements: PageElements) -> Found:
    nodes = elements.page.tree.css('a[href^="mailto:" i]')[:50]
    for node in sorted(nodes, key=is_beside):
        match = _EMAIL.search((node.attributes.get("href") or "").replace("%40", "@"))
        if match is not None:
            return [match[0]], "mailto"
    return NOTHING


def guess_phone(elements: PageElements) -> Found:
    for node in sorted(elements.page.tree.css('a[href^="tel:" i], a[href^="callto:" i]')[:50], key=is_beside):
        text = elements.page.text_of(node) or ""
        number = (node.attributes.get("href") or "").partition(":")[2].strip()
        found = re.search(r"[+(]?\d[\d\s()/.+-]{4,}\d", text)
        return [found[0] if found is not None else number], "tel"
    return NOTHING


def guess_address(elements: PageElements) -> Found:
    for node in elements.page.tree.css(
        "address, .adr, .address, .adresse, .anschrift, .direccion, .indirizzo, .adres, [class*='postal-address']"
    )[:10]:
        text = elements.page.text_of(node) or ""
        text = _EMAIL.sub("", text)
        if 10 <= len(text) <= 250 and re.search(r"\d", text) and not find_date(text):
            return [text], describe("address", node)
    return NOTHING
