"""Selectors for labelled values, by the text of the label: they stay correct when rows are added or removed."""

from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from corral.extract.names.sources.labels import LabelRow, Labels
from corral.extract.names.words.label_words import names_of_label
from corral.extract.page import Page

_MAX_ROWS = 30
_XPATHS = {
    "dl": "//dt[normalize-space()={label}]/following-sibling::dd[1]",
    "table": "//tr[normalize-space(*[1])={label}]/*[2]",
}


@dataclass(frozen=True, slots=True)
class LabelledValue:
    name: str  # the field that the label stands for, or the label itself
    is_known: bool  # the label stands for a field
    xpath: str
    node: LexborNode  # the element with the value


def find_labelled(page: Page) -> Iterator[LabelledValue]:
    """Yield the rows of definition lists and two-column tables, outside menus and related items."""
    rows = [row for row in Labels(page).rows if row.kind in _XPATHS and not row.is_beside]
    for row in rows[:_MAX_ROWS]:
        label = _text_of_label(page, row)
        quoted = _quote(label) if label else None
        if quoted is not None:
            names = names_of_label(row.label)
            name = names[0] if names else row.label.lower()
            yield LabelledValue(name, bool(names), _XPATHS[row.kind].format(label=quoted), row.node)


def _text_of_label(page: Page, row: LabelRow) -> str | None:
    """Return the label as written in the page, with its colon; None if it consists of several elements."""
    holder = row.node.prev
    while holder is not None and holder.tag not in ("dt", "td", "th"):
        holder = holder.prev
    if holder is None or any(not (child.tag or "-").startswith("-") for child in holder.iter()):
        return None
    # Only the first cell of a row is its label.
    if row.kind == "table" and holder.css_first("*") is None and _cell_before(holder):
        return None
    return page.text_of(holder)


def _cell_before(cell: LexborNode) -> bool:
    before = cell.prev
    while before is not None:
        if before.tag in ("td", "th"):
            return True
        before = before.prev
    return False


def _quote(text: str) -> str | None:
    """Return the text as a literal of XPath 1.0, which has no escapes; None if it has both kinds of quotes."""
    if '"' not in text:
        return f'"{text}"'
    return f"'{text}'" if "'" not in text else None
