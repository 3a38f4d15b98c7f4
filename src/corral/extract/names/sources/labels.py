"""Read labels with their values: definition lists, two-column tables, and labels in running text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from corral.extract.names.guesses.zones import is_beside, is_hidden, marks_of
from corral.extract.names.words.label_words import names_of_label
from corral.extract.names.words.text import plain
from corral.extract.page import Page, normalize_space

_MAX_NODES = 10_000
_MAX_ENTRIES = 200
_MAX_LABEL_CHARS = 60
_MAX_VALUE_CHARS = 400
_LABELLED = re.compile(r"^\s*([^:：\d\n][^:：\n]{0,40}?)\s*[:：]\s*(\S.*)?$", re.DOTALL)
# Parts `SKU: A | Brand: B` and `Tel: 1, Fax: 2`, not a value with a comma in it.
_PIECES = re.compile(r"\s+[|·•]\s+|[,;]\s+(?=[^\W\d_][^:：,;|\d]{1,25}[:：]\s)")
_AMOUNT = re.compile(r"\s+(?:für|for|pour|per|para|voor|till?|na|на|к)\s.*$|\s*\(.*$", re.IGNORECASE)
_LABEL_CLASS = re.compile(
    r"(?:^|[\s_-])(?:label|key|term|caption|attr(?:ibute)?(?:-?name)?|dt|th|heading|head|title|name|fieldname"
    r"|prop(?:erty)?)(?:$|[\s_-])|label$",
    re.I,
)
_ENDS_VALUE = frozenset(
    ["br", "p", "div", "ul", "ol", "li", "table", "tr", "dl", "dt", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "section"]
)
_LABEL_TAGS = frozenset(("b", "strong", "label", "em", "i", "span", "small", "u", "font", "abbr"))
_LESSER = frozenset(("h3", "h4", "h5", "h6"))
_MAX_VALUE_BELOW_HEADING = 100
_HEADINGS = "h2, h3, h4, h5, h6, summary, legend, caption"
# For these names, a list below a heading is better than a text after a label.
_LISTS = frozenset(("ingredients", "instructions"))
# Names whose values are paragraphs or lists below a heading.
_BELOW_HEADINGS = frozenset(("description", "ingredients", "instructions", "opening_hours", "address", "tags"))


@dataclass(frozen=True, slots=True)
class LabelRow:
    kind: str  # table, dl, label, heading
    label: str
    values: tuple[str, ...]
    node: LexborNode  # the element with the value
    is_beside: bool

    @property
    def source(self) -> str:
        return f"{self.kind}:{self.label}"


class Labels:
    """All rows of a page, found by the name that their label stands for, or by the label itself."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self.rows = [*self._definitions(), *self._table_rows(), *self._text_rows(), *self._headings()]
        self._by_label: dict[str, list[LabelRow]] = {}
        self._by_name: dict[str, list[LabelRow]] = {}
        for row in self.rows:
            self._by_label.setdefault(plain(row.label), []).append(row)
            for name in names_of_label(row.label):
                self._by_name.setdefault(name, []).append(row)

    def find(self, name: str, key: str) -> list[LabelRow]:
        """Return rows with exactly this label, then those whose label means the name; rows beside the subject last."""
        found = {id(row): row for row in (*self._by_label.get(key, ()), *self._by_name.get(name, ()))}
        return sorted(found.values(), key=lambda row: (row.is_beside, name in _LISTS and row.kind != "heading"))

    def _row(self, kind: str, label: str | None, node: LexborNode, values: list[str]) -> Iterator[LabelRow]:
        label = (label or "").strip(" :：*•·–—-\u00a0")
        texts = tuple(value for value in values if value)
        if label and texts and len(label) <= _MAX_LABEL_CHARS and plain(label) and not is_hidden(node):
            yield LabelRow(kind, label, texts, node, is_beside(node))

    def _definitions(self) -> Iterator[LabelRow]:
        for term in self._page.tree.css("dt")[:_MAX_NODES]:
            values, first = [], None
            node = term.next
            while node is not None and node.tag != "dt":
                if node.tag == "dd":
                    first = first or node
                    values += self._list_texts(node)
                elif first is not None and node.tag not in ("-text", "-comment"):
                    break
                node = node.next
            if first is not None:
                yield from self._row("dl", self._page.text_of(term), first, values)

    def _table_rows(self) -> Iterator[LabelRow]:
        for row in self._page.tree.css("tr")[:_MAX_NODES]:
            cells = [cell for cell in row.iter() if cell.tag in ("td", "th")]
            if len(cells) in (2, 4) and (cells[0].tag != cells[1].tag or cells[0].tag == "td"):
                for label, value in zip(cells[::2], cells[1::2], strict=True):
                    yield from self._cell_pair(label, value)
            elif len(cells) > 1 and all(cell.tag == "th" for cell in cells):
                yield from self._single_data_row(row, cells)

    def _cell_pair(self, label: LexborNode, value: LexborNode) -> Iterator[LabelRow]:
        text = self._page.text_of(label)
        if text and len(text) <= _MAX_LABEL_CHARS and label.css_first("table") is None:
            found = self._list_texts(value)
            # `Name | Price` is the head of a data table: both are labels.
            is_head = (
                label.tag == value.tag and len(found) == 1 and bool(names_of_label(text) and names_of_label(found[0]))
            )
            if value.css_first("table") is None and not is_head:
                yield from self._row("table", text, value, found)

    def _single_data_row(self, row: LexborNode, cells: list[LexborNode]) -> Iterator[LabelRow]:
        """Yield the pairs of a table with a head of labels and a single row of values."""
        following = _only_row_after(row)
        if following is None:
            return
        values = [cell for cell in following.iter() if cell.tag == "td"]
        if len(values) == len(cells):
            for label, value in zip(cells, values, strict=True):
                yield from self._row("table", self._page.text_of(label), value, self._list_texts(value))

    def _list_texts(self, node: LexborNode) -> list[str]:
        """Return the entries of a list inside a node, else its whole text."""
        entries = node.css("li")
        if entries:
            return [text for entry in entries[:500] if (text := self._page.text_of(entry))]
        text = self._page.text_of(node)
        return [text] if text else []

    def _text_rows(self) -> Iterator[LabelRow]:
        body = self._page.tree.body
        if body is None:
            return
        for count, node in enumerate(body.traverse(include_text=True)):
            if count > 5 * _MAX_NODES:
                return
            parent = node.parent
            if (
                node.tag != "-text"
                or parent is None
                or parent.tag in ("script", "style", "template", "noscript", "dt", "th", "title")
            ):
                continue
            text = node.text_content or ""
            if not text.strip() or len(text) > _MAX_VALUE_CHARS:
                continue
            pieces = _PIECES.split(normalize_space(text) or "")
            for piece in pieces[:-1]:
                yield from self._read_piece(parent, piece)
            yield from self._read_text(node, parent, pieces[-1])

    def _read_piece(self, parent: LexborNode, text: str) -> Iterator[LabelRow]:
        """Yield one of several labels with values in a line."""
        match = _LABELLED.match(text)
        if match is not None and match[2] and len(match[1].split()) <= 6:
            yield from self._row("label", match[1], parent, [match[2]])

    def _read_text(self, node: LexborNode, parent: LexborNode, text: str) -> Iterator[LabelRow]:
        match = _LABELLED.match(text)
        if match is not None and len(match[1].split()) <= 6:
            if match[2]:
                if not match[2].startswith("//"):
                    value = normalize_space(f"{match[2]} {self._text_after(node)}") or ""
                    yield from self._row("label", match[1], parent, [value])
            else:
                yield from self._value_after(match[1], node, parent)
        elif len(text) <= 40 and names_of_label(text) and self._is_label_element(parent, text):
            yield from self._value_after(text, node, parent)
        else:
            following = node.next if node.next is not None else parent.next if parent.tag in _LABEL_TAGS else None
            if (
                following is not None
                and len(text) <= 40
                and (following.text(deep=True) or "").lstrip().startswith((":", "："))
            ):
                yield from self._value_after(text, node, parent)

    def _is_label_element(self, parent: LexborNode, text: str) -> bool:
        """Return whether an element holds only a known label and looks like one: by tag, class, or as one of a pair."""
        if self._page.text_of(parent) != text:
            return False
        if parent.tag in ("b", "strong", "label") or _LABEL_CLASS.search(marks_of(parent)):
            return True
        grand = parent.parent
        if grand is None or parent.tag in ("a", "button", "option", "h1", "h2"):
            return False
        pair = list(grand.iter())
        if len(pair) != 2 or parent.next is None:
            return False
        return parent.tag not in _LESSER or len(self._page.text_of(pair[1]) or "") <= _MAX_VALUE_BELOW_HEADING

    def _value_after(self, label: str, node: LexborNode, parent: LexborNode) -> Iterator[LabelRow]:
        holder = node
        while True:
            value = self._text_after(holder).lstrip(":： ").strip()
            if value:
                yield from self._row("label", label, holder.parent or parent, [value[:_MAX_VALUE_CHARS]])
                return
            above = holder.parent
            if above is None or above.tag not in _LABEL_TAGS:
                break
            holder = above
        block = holder.parent if holder.tag == "-text" else holder
        following = self._element_after(block, len(label) + 3)
        if following is not None and following.tag not in ("h1", "h2", "h3", "form", "script"):
            values = self._list_texts(following)
            if values and len(values[0]) <= _MAX_VALUE_CHARS:
                yield from self._row("label", label, following, values)

    def _element_after(self, block: LexborNode | None, max_chars: int) -> LexborNode | None:
        """Return the element after a label, or after its parent if the parent has no other text."""
        for _ in range(4):
            if block is None or not 0 < len(self._page.text_of(block) or "") <= max_chars:
                return None
            following = _next_element(block)
            if following is not None:
                return following
            block = block.parent
        return None

    def _text_after(self, node: LexborNode) -> str:
        """Return the text after a node up to the end of its line."""
        pieces: list[str] = []
        size = 0
        following = node.next
        while following is not None and size < _MAX_VALUE_CHARS:
            tag = following.tag or ""
            if tag in _ENDS_VALUE:
                break
            text = (
                following.text_content
                if tag == "-text"
                else following.text(deep=True, separator=" ")
                if not tag.startswith("-")
                else ""
            )
            if tag in ("b", "strong", "label") and (text or "").rstrip().endswith((":", "：")):
                break
            if text and pieces and re.search(r"[:：]\s*$", text):
                break
            pieces.append(text or "")
            size += len(pieces[-1])
            following = following.next
        return normalize_space(" ".join(pieces)) or ""

    def _headings(self) -> Iterator[LabelRow]:
        for heading in self._page.tree.css(_HEADINGS)[:1_000]:
            text = _AMOUNT.sub("", (self._page.text_of(heading) or "")).rstrip(":： ")
            if len(text) > 40 or not _BELOW_HEADINGS.intersection(names_of_label(text)):
                continue
            values, node = self._below(heading)
            if node is not None:
                yield from self._row("heading", text, node, values)

    def _below(self, heading: LexborNode) -> tuple[list[str], LexborNode | None]:
        """Return the texts of the lists below a heading up to the next one, else of its paragraphs."""
        holder = heading
        for _ in range(3):
            parts = list(_siblings_below(holder))
            lists = [part for part in parts if part.tag in ("ul", "ol") or part.css_first("li") is not None]
            values = [text for part in lists or parts for text in self._list_texts(part)]
            if values or holder.parent is None or holder.parent.tag in ("body", "main", "article"):
                return values[:_MAX_ENTRIES], next(iter(lists or parts), None)
            holder = holder.parent
        return [], None


def _siblings_below(holder: LexborNode) -> Iterator[LexborNode]:
    node = holder.next
    while node is not None and node.tag not in ("h1", "h2", "h3", "h4", "section", "footer"):
        tag = node.tag or "-"
        if not tag.startswith("-") and tag not in ("script", "style", "form", "button"):
            if node.css_first("h2, h3") is not None:
                return
            yield node
        node = node.next


def _next_element(node: LexborNode) -> LexborNode | None:
    following = node.next
    while following is not None and (following.tag or "").startswith("-"):
        if (following.text_content or "").strip():
            return None
        following = following.next
    return following


def _only_row_after(head: LexborNode) -> LexborNode | None:
    """Return the second row of a table that has two rows and begins with this one."""
    table = head.parent
    while table is not None and table.tag in ("thead", "tbody"):
        table = table.parent
    if table is None or table.tag != "table" or _element_before(head) is not None:
        return None
    rows = table.css("tr")
    return rows[1] if len(rows) == 2 and rows[0].mem_id == head.mem_id else None


def _element_before(node: LexborNode) -> LexborNode | None:
    before = node.prev
    while before is not None and (before.tag or "").startswith("-"):
        before = before.prev
    return before
