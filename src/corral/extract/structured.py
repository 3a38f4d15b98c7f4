"""What a page says about itself: JSON-LD, meta tags, microdata, tables of labels and values."""

import json
import re
from collections.abc import Iterator
from typing import Any

from corral.extract.page import Page, normalize_space

_MAX_NODES = 5_000
_MAX_SCRIPT_CHARS = 1_000_000
_NOT_ALNUM = re.compile(r"[\W_]+")
# Where a microdata value lives, when it is not the text.
_ITEM_ATTRIBUTES = ("content", "datetime", "href", "src", "value")
_WANTED_KEYS = ("name", "url", "@value", "value", "price", "ratingValue", "@id")


def plain(name: str) -> str:
    """`published_at`, `publishedAt` and `published at` are the same name."""
    return _NOT_ALNUM.sub("", name).lower()


Found = dict[str, list[str]]


def json_ld(page: Page) -> Found:
    """Every scalar of every JSON-LD block by its plain key, in document order."""
    found: Found = {}
    for script in page.tree.css('script[type="application/ld+json"]')[:50]:
        for key, value in _pairs(_load_json(script.text(deep=True))):
            _keep(found, key, value)
    return found


def metas(page: Page) -> Found:
    """By whole name (`og:title` as `ogtitle`) and by the part after the last colon."""
    found: Found = {}
    shorts: Found = {}
    for node in page.tree.css("meta[content]")[:500]:
        name = node.attributes.get("property") or node.attributes.get("name") or ""
        value = node.attributes.get("content")
        if name and value:
            _keep(found, name, value)
            _keep(shorts, re.split(r"[:.]", name)[-1], value)
    return {**shorts, **found}


def microdata(page: Page) -> Found:
    found: Found = {}
    for node in page.tree.css("[itemprop]")[:_MAX_NODES]:
        attributes = node.attributes
        held = (attributes.get(name) for name in _ITEM_ATTRIBUTES)
        value = next((text for text in held if text), None) or node.text(deep=True, separator=" ")
        for name in (attributes.get("itemprop") or "").split():
            _keep(found, name, value)
    return found


def label_rows(page: Page) -> Found:
    """Rows of a label and a value: `<th>Price</th><td>9</td>`, `<dt>Price</dt><dd>9</dd>`."""
    found: Found = {}
    for label in page.tree.css("tr > th:first-child, dt")[:_MAX_NODES]:
        value = label.next
        while value is not None and value.tag not in ("td", "dd"):
            value = value.next
        name = page.text_of(label)
        if value is not None and name and len(name) <= 80:
            _keep(found, name, value.text(deep=True, separator=" "))
    return found


def _keep(found: Found, name: str, value: str) -> None:
    key, text = plain(name), normalize_space(value)
    if key and text:
        found.setdefault(key, []).append(text)


def _load_json(text: str) -> Any:
    if len(text) > _MAX_SCRIPT_CHARS:
        return None
    try:
        return json.loads(text.strip().rstrip(";"), parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None


def _pairs(document: Any) -> Iterator[tuple[str, str]]:
    """Breadth first, so that the page's own name comes before the names inside it."""
    queue: list[Any] = [document]
    for place in range(_MAX_NODES):
        if place >= len(queue):
            return
        node = queue[place]
        if isinstance(node, list):
            queue.extend(node[:_MAX_NODES])
        elif isinstance(node, dict):
            for key, value in node.items():
                text = _scalar(value)
                if text is not None:
                    yield key, text
                queue.extend(_containers(value))


def _containers(value: Any) -> list[Any]:
    return [value] if isinstance(value, dict | list) else []


def _scalar(value: Any) -> str | None:
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        value = next((value[key] for key in _WANTED_KEYS if isinstance(value.get(key), str | int | float)), None)
    if isinstance(value, bool) or value is None or isinstance(value, dict | list):
        return None
    return str(value)
