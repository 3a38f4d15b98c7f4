"""Suggest fields of a page and their selectors to a person who writes a job.

Each suggestion is tried with the code that fills fields: a selector that finds nothing is left out.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from selectolax.lexbor import LexborNode

from corral.domain.fields.spec import FieldSpec
from corral.extract.fields.extract import extract_from
from corral.extract.names.sources.entity_text import texts_of
from corral.extract.names.sources.json_ld import read_json_ld
from corral.extract.names.words.text import plain
from corral.extract.page import Page, normalize_space
from corral.extract.selectors.generate import classes_of, selector_for
from corral.extract.survey.labelled import find_labelled
from corral.extract.survey.repeated_items import item_suggestions

MAX_SUGGESTIONS = 20
_MAX_PER_LABEL = 3
_MAX_SAMPLE_CHARS = 200
_MAX_TRIED = 100
_MAX_TEXTS = 20_000
_HIDDEN = frozenset({"script", "style", "template", "noscript", "title", "option"})

_MONEY = r"(?:[€$£¥₹]|\b(?:USD|EUR|GBP|CHF|JPY|SEK|PLN)\b)"
_PRICE = re.compile(rf"{_MONEY}\s?\d[\d.,\s]*|\d[\d.,\s]*\s?{_MONEY}")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DATE = re.compile(
    rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}\.? {_MONTH},? \d{{4}}\b|\b{_MONTH} \d{{1,2}},? \d{{4}}\b"
    r"|\b\d{1,2}[./]\d{1,2}[./]\d{4}\b"
)
_MAX_PRICE_CHARS = 40
_MAX_DATE_CHARS = 60

# Common places of values: label, selector, attribute, and the confidence if it matches.
_USUAL: tuple[tuple[str, str, str | None, float], ...] = (
    ("title", "head > title", None, 0.9),
    ("title", 'meta[property="og:title"]', "content", 0.85),
    ("heading", "h1", None, 0.95),
    ("subheading", "h2", None, 0.5),
    ("description", 'meta[name="description"]', "content", 0.9),
    ("description", 'meta[property="og:description"]', "content", 0.8),
    ("image", 'meta[property="og:image"]', "content", 0.85),
    ("image", "article img[src], main img[src]", "src", 0.65),
    ("image", "img[src]", "src", 0.45),
    ("date", "time[datetime]", "datetime", 0.9),
    ("date", 'meta[property="article:published_time"]', "content", 0.85),
    ("date", "time", None, 0.7),
    ("author", 'a[rel~="author"]', None, 0.85),
    ("author", 'meta[name="author"]', "content", 0.8),
    ("author", 'meta[property="article:author"]', "content", 0.75),
    ("price", 'meta[property="product:price:amount"]', "content", 0.9),
    ("currency", 'meta[property="product:price:currency"]', "content", 0.85),
    ("url", 'link[rel="canonical"]', "href", 0.7),
    ("next page", 'a[rel~="next"]', "href", 0.85),
    ("next page", 'link[rel~="next"]', "href", 0.7),
)
# Properties of microdata and JSON-LD, with the labels of the suggestions.
_NAMED = {
    "name": "name",
    "headline": "title",
    "price": "price",
    "priceCurrency": "currency",
    "datePublished": "date",
    "author": "author",
    "image": "image",
    "description": "description",
    "ratingValue": "rating",
    "availability": "availability",
    "sku": "sku",
    "brand": "brand",
}
_ITEM_ATTRIBUTES = ("content", "datetime", "src", "href", "value")
# Words in class names and ids, in the order of the search.
_CLASS_WORDS = ("price", "author", "byline", "date", "description", "summary", "rating", "stock", "sku", "category")
_LABEL_OF = {"byline": "author", "summary": "description"}
_MAX_NAMED_CHARS = 500


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A field, ready to use: `css` or `xpath`, `attr`, `all` and `regex` have the same meaning as in a job."""

    label: str
    css: str | None
    confidence: float
    attr: str | None = None
    all: bool = False
    regex: str | None = None
    xpath: str | None = None

    def spec(self) -> FieldSpec:
        return FieldSpec(self.label, self.css, self.attr, self.all, self.regex, xpath=self.xpath)


def suggestions(page: Page) -> list[dict[str, Any]]:
    """Return the suggestions, the best first, each with a sample of its value; at most three for one label."""
    found = sorted(_all(page), key=lambda each: -each.confidence)
    suggested: list[dict[str, Any]] = []
    seen: set[tuple[str | None, ...]] = set()
    by_label: dict[str, list[str]] = {}
    for each in found[:_MAX_TRIED]:
        samples = by_label.setdefault(each.label, [])
        key = (each.css, each.xpath, each.attr, each.regex)
        if key in seen or len(samples) >= _MAX_PER_LABEL or len(suggested) >= MAX_SUGGESTIONS:
            continue
        value = extract_from(page, [each.spec()]).record[each.label]
        sample = _sample_of(value)
        if sample:
            seen.add(key)
            samples.append(sample)
            result = {"confidence": round(each.confidence, 2), "sample": sample, "value": value}
            suggested.append({**asdict(each), **result})
    return suggested


def _sample(page: Page, suggestion: Suggestion) -> str | None:
    return _sample_of(extract_from(page, [suggestion.spec()]).record[suggestion.label])


def _sample_of(value: Any) -> str | None:
    first = value[0] if isinstance(value, list) and value else value
    return first[:_MAX_SAMPLE_CHARS] if isinstance(first, str) and first else None


def _all(page: Page) -> Iterator[Suggestion]:
    yield from (Suggestion(label, css, confidence, attr) for label, css, attr, confidence in _USUAL)
    yield from _from_microdata(page)
    yield from _from_json_ld(page)
    yield from _by_class(page)
    yield from _by_text(page)
    yield from _body(page)
    for each in find_labelled(page):
        yield Suggestion(each.name, None, 0.75 if each.is_known else 0.55, xpath=each.xpath)
    for label, css, attr, confidence in item_suggestions(page):
        yield Suggestion(label, css, confidence, attr, all=True)


def _from_microdata(page: Page) -> Iterator[Suggestion]:
    for name, label in _NAMED.items():
        css = f'[itemprop="{name}"]'
        node = page.tree.css_first(css)
        if node is not None:
            attr = next((each for each in _ITEM_ATTRIBUTES if node.attributes.get(each)), None)
            yield Suggestion(label, css, 0.9, attr)


def _from_json_ld(page: Page) -> Iterator[Suggestion]:
    """Suggest patterns for JSON-LD, if a pattern finds the same value as a parser: inner objects may mislead it."""
    found_values = _json_ld_values(page)
    for name, label in _NAMED.items():
        values = found_values.get(plain(name))
        # An article has a headline; a `name` inside it belongs to another object.
        if not values or (name == "name" and "headline" in found_values):
            continue
        regex = rf'"{name}"\s*:\s*"?([^",}}\]]+)'
        found = Suggestion(label, 'script[type="application/ld+json"]', 0.8, regex=regex)
        if _sample(page, found) == values[0][:_MAX_SAMPLE_CHARS]:
            yield found


def _json_ld_values(page: Page) -> dict[str, list[str]]:
    """Return, by property, the values of all entities in document order."""
    found: dict[str, list[str]] = {}
    for entity in read_json_ld(page):
        for key, values in entity.properties.items():
            found.setdefault(key, []).extend(text for value in values for text in texts_of(key, value)[:1])
    return found


def _by_class(page: Page) -> Iterator[Suggestion]:
    for word in _CLASS_WORDS:
        for node in page.tree.css(f'[class*="{word}"], [id*="{word}"]')[:20]:
            text = page.text_of(node)
            if not text or len(text) > _MAX_NAMED_CHARS or (word == "price" and not re.search(r"\d", text)):
                continue
            css = _class_selector(page, node, word)
            if css is not None:
                is_exact = word in classes_of(node)
                yield Suggestion(_LABEL_OF.get(word, word), css, 0.85 if is_exact else 0.65)
                break


def _class_selector(page: Page, node: LexborNode, word: str) -> str | None:
    named = next((name for name in classes_of(node) if word in name), None)
    return f".{named}" if named is not None else selector_for(page, node)


def _by_text(page: Page) -> Iterator[Suggestion]:
    """Suggest the first text that looks like a price, and the first that looks like a date."""
    wanted = {"price": (_PRICE, _MAX_PRICE_CHARS, 0.7), "date": (_DATE, _MAX_DATE_CHARS, 0.5)}
    for text, node in _texts(page):
        for label, (pattern, max_chars, confidence) in list(wanted.items()):
            if len(text) <= max_chars and pattern.search(text) and (css := selector_for(page, node)) is not None:
                del wanted[label]
                yield Suggestion(label, css, confidence)
        if not wanted:
            return


def _texts(page: Page) -> Iterator[tuple[str, LexborNode]]:
    if page.tree.body is None:
        return
    for index, node in enumerate(page.tree.body.traverse(include_text=True)):
        if index >= _MAX_TEXTS:
            return
        parent = node.parent
        if node.tag == "-text" and parent is not None and parent.tag not in _HIDDEN:
            text = normalize_space(node.text_content)
            if text:
                yield text, parent


def _body(page: Page) -> Iterator[Suggestion]:
    """Suggest the element that holds the main text."""
    for css, confidence in (("article", 0.6), ("main", 0.5), ('[role="main"]', 0.5)):
        text = page.text_of(page.tree.css_first(css))
        if text and len(text) > 200:
            yield Suggestion("text", css, confidence)
            return
