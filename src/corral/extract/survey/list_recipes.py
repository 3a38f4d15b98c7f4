"""Propose field recipes for repeated items: `item` and `fields` that yield one object per item, ready to use."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from selectolax.lexbor import LexborNode

from corral.domain.fields.parse import parse_field
from corral.extract.fields.extract import extract_from
from corral.extract.page import Page
from corral.extract.selectors.generate import is_element, names_of
from corral.extract.survey.repeated_items import RepeatedItems, find_repeated_items

_MAX_FIELDS = 12
_MAX_ROWS = 5
_SAMPLE_ITEMS = 10
_MAX_INSIDE = 300
_MAX_NAMES = 3
_MIN_SHARE = 2 / 3
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_WORDS = ("price", "author", "date", "rating", "description", "summary", "category", "stock", "sku", "brand", "title")
_WRITTEN = re.compile(r"""[.=*]["']?([A-Za-z][A-Za-z_-]*)""")
_WHOLE = "(?s)(.+)"
_UNNAMED = "text"


def propose_lists(page: Page) -> list[dict[str, Any]]:
    """Return the repeated items of the page, the most likely first, with a recipe and its first rows."""
    lists: list[dict[str, Any]] = []
    for group, css, confidence in find_repeated_items(page):
        fields = _fields_of(page, group)
        if not fields or (group.tag == "p" and group.name is None):
            continue  # paragraphs of a text, not a list
        name = f"items_{len(lists) + 1}" if lists else "items"
        recipe: dict[str, Any] = {"name": name, "item": css, "fields": fields}
        rows = extract_from(page, [parse_field(recipe, field="fields.0")]).record[name]
        if rows:
            summary = {"item": css, "count": len(rows), "confidence": round(confidence, 2)}
            lists.append({**summary, "recipe": recipe, "rows": rows[:_MAX_ROWS]})
    return lists


def _fields_of(page: Page, group: RepeatedItems) -> list[dict[str, Any]]:
    items = group.nodes[:_SAMPLE_ITEMS]
    found: list[dict[str, Any]] = list(_own_fields(page, items))
    seen_values: set[tuple[str | None, ...]] = {tuple(_value(page, node, field) for node in items) for field in found}
    for css, attr in _parts_of(items) if group.tag != "tr" else _cells_of(group):
        if len(found) >= _MAX_FIELDS:
            break
        values = tuple(_first_value(page, node, css, attr) for node in items)
        present = sum(value is not None for value in values)
        # A value that all items share, such as the text of a button, is no field; nor is one that another field has.
        is_telling = len(set(values)) > 1 or len(items) == 1
        if present >= _MIN_SHARE * len(items) and is_telling and values not in seen_values:
            seen_values.add(values)
            field = {"name": _name_of(css, attr, group), "css": css, **({"attr": attr} if attr else {})}
            found.append(field if present == len(items) else {**field, "optional": True})
    return _number_names(found)


def _own_fields(page: Page, items: Sequence[LexborNode]) -> Iterator[dict[str, Any]]:
    """Yield fields for items that are links themselves, or have no elements inside."""
    if all(node.tag == "a" and node.attributes.get("href") for node in items):
        yield {"name": "link", "attr": "href"}
    has_parts = any(True for node in items for child in node.iter() if is_element(child))
    texts = [page.text_of(node) for node in items]
    if not has_parts and all(texts) and len(set(texts)) > 1:
        yield {"name": _UNNAMED, "regex": _WHOLE}


def _parts_of(items: Sequence[LexborNode]) -> Iterator[tuple[str, str | None]]:
    """Yield selectors inside the items: those of most items first, then headings, then in document order."""
    counts: Counter[tuple[str, str | None]] = Counter()
    for item in items:
        selectors: dict[tuple[str, str | None], None] = {}
        for index, node in enumerate(item.traverse(include_text=False)):
            if index > _MAX_INSIDE:
                break
            if index > 0 and is_element(node):
                selectors |= dict.fromkeys(
                    (name, attr) for attr in _attributes_of(node) for name in names_of(node)[:_MAX_NAMES]
                )
        counts.update(list(selectors))
    order = {key: index for index, key in enumerate(counts)}
    yield from sorted(counts, key=lambda key: (-counts[key], key[0] not in _HEADINGS, order[key]))


def _attributes_of(node: LexborNode) -> list[str | None]:
    """Return where the value of an element is: an attribute, or None for the text; both for a link."""
    if node.tag in ("img", "source", "video"):
        return ["src"]
    if node.tag == "a" and node.attributes.get("href"):
        return [None, "href"]
    if node.tag == "time" and node.attributes.get("datetime"):
        return ["datetime"]
    if node.tag == "meta":
        return ["content"]
    # An element without text of its own yields nothing: its children hold the text.
    return (
        [None] if any(child.tag == "-text" and (child.text_content or "").strip() for child in _children(node)) else []
    )


def _children(node: LexborNode) -> Iterator[LexborNode]:
    return node.iter(include_text=True)


def _cells_of(group: RepeatedItems) -> Iterator[tuple[str, str | None]]:
    cells = max((len(node.css("td")) for node in group.nodes[:_SAMPLE_ITEMS]), default=0)
    for number in range(1, min(cells, _MAX_FIELDS) + 1):
        yield f"td:nth-of-type({number})", None
    yield "td a[href]", "href"


def _value(page: Page, node: LexborNode, field: dict[str, Any]) -> str | None:
    return page.value_of(node, field.get("attr"))


def _first_value(page: Page, item: LexborNode, css: str, attr: str | None) -> str | None:
    node = item.css_first(css)
    return None if node is None else page.value_of(node, attr)


def _name_of(css: str, attr: str | None, group: RepeatedItems) -> str:
    if attr in ("href", "src"):
        return "link" if attr == "href" else "image"
    if css.startswith("td:"):
        return (
            _heading_of(group, int(css.rpartition("(")[2].rstrip(")")))
            or f"column_{css.rpartition('(')[2].rstrip(')')}"
        )
    written = _WRITTEN.findall(css)
    word = next((word for word in _WORDS for name in written if word in name.lower()), None)
    if word is not None:
        return word
    if css in _HEADINGS:
        return "title"
    if css.startswith("time"):
        return "date"
    name = re.sub(r"[^a-z0-9]+", "_", written[-1].lower()).strip("_") if written else ""
    return name or ("title" if css == "a" else _UNNAMED)


def _heading_of(group: RepeatedItems, number: int) -> str | None:
    """Return the heading of a table column as a field name."""
    table: LexborNode | None = group.parent
    while table is not None and table.tag != "table":
        table = table.parent
    headings = table.css("th") if table is not None else []
    if number > len(headings):
        return None
    text = (headings[number - 1].text(deep=True) or "").strip().lower()
    return re.sub(r"\W+", "_", text).strip("_")[:40] or None


def _number_names(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    counts: Counter[str] = Counter()
    named = []
    for field in fields:
        counts[field["name"]] += 1
        number = counts[field["name"]]
        named.append(field if number == 1 else {**field, "name": f"{field['name']}_{number}"})
    return named
