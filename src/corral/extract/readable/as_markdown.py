"""Render blocks as Markdown (CommonMark with GitHub tables)."""

import re

from selectolax.lexbor import LexborNode

from corral.extract.page import Page
from corral.extract.readable.as_text import cell_texts
from corral.extract.readable.blocks import HEADINGS, Block
from corral.extract.readable.inline import BREAK, image_source, is_omitted, link_target

_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "del": "~~", "s": "~~"}
_CODE = frozenset(("code", "kbd", "samp", "tt"))
_SPECIAL = re.compile(r"([\\`*_\[\]<])")
_LANGUAGE = re.compile(r"(?:language|lang|highlight|brush)[-:]\s?([A-Za-z0-9+#]+)")


class MarkdownRenderer:
    def __init__(self, page: Page) -> None:
        self._page = page

    def render(self, main: Block) -> str:
        parts: list[str] = []
        self._add(main, parts, "")
        return "\n\n".join(part for part in parts if part.strip())

    def _add(self, block: Block, parts: list[str], indent: str) -> None:
        tag = block.tag
        if tag == "pre":
            parts.append(_indent(_fence(block), indent))
        elif block.kids is None:
            parts.append(_indent(self._leaf(block), indent))
        elif tag in ("ul", "ol", "menu", "dir"):
            parts.append(_indent(self._list(block), indent))
        elif tag == "table" and _is_data(block):
            parts.append(_indent(self._table(block), indent))
        elif tag == "blockquote":
            parts.append(_indent(_prefix(self._inside(block), "> "), indent))
        else:
            for kid in block.kids:
                self._add(kid, parts, indent)

    def _inside(self, block: Block) -> str:
        parts: list[str] = []
        for kid in block.kids or ():
            self._add(kid, parts, "")
        return "\n\n".join(part for part in parts if part.strip())

    def _leaf(self, block: Block) -> str:
        text = self._inline_text(block)
        if not text:
            return ""
        if block.tag in HEADINGS:
            return "#" * int(block.tag[1]) + " " + text.replace("\n", " ")
        if block.tag == "li":
            return f"- {text}"
        if block.tag == "blockquote":
            return _prefix(text, "> ")
        if block.tag == "dt":
            return f"**{text}**"
        return text

    def _list(self, block: Block) -> str:
        is_numbered = block.tag == "ol"
        lines: list[str] = []
        for kid in block.kids or ():
            text = self._inline_text(kid) if kid.kids is None else self._inside(kid)
            if text:
                mark = f"{len(lines) + 1}. " if is_numbered else "- "
                lines.append(mark + _indent(text, " " * len(mark)).lstrip())
        return "\n".join(lines)

    def _table(self, block: Block) -> str:
        rows = [cell_texts(row) for row in _rows(block)]
        width = max(map(len, rows))
        lines = [_table_line(row, width) for row in rows]
        return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])

    def _inline_text(self, block: Block) -> str:
        if block.kids is not None:
            return self._inside(block)
        if block.inline is None:
            pieces = self._read_kids(block.node, 0)
        elif block.inline:
            pieces = [self._read(node, 0) for node in block.inline]
        else:
            return _escape(block.text)
        lines = [" ".join(line.split()) for line in "".join(pieces).split(BREAK)]
        return "  \n".join(line for line in lines if line)

    def _read(self, node: LexborNode, depth: int) -> str:
        tag = node.tag or ""
        if tag == "-text":
            return _escape(node.text_content or "")
        if tag == "br":
            return BREAK
        if tag == "img":
            return self._image(node)
        attributes = node.attributes
        if is_omitted(tag, attributes, depth):
            return ""
        if tag in _CODE:
            text = " ".join(node.text(deep=True).split())
            return f"`` {text} ``" if "`" in text else f"`{text}`" if text else ""
        text = "".join(self._read_kids(node, depth + 1))
        href = link_target(attributes) if tag == "a" and text.strip() else None
        if href:
            return f"[{' '.join(text.split())}](<{self._page.absolute(href)}>)"
        mark = _MARKS.get(tag)
        return _mark(text, mark) if mark else text

    def _read_kids(self, node: LexborNode, depth: int) -> list[str]:
        return [self._read(child, depth) for child in node.iter(include_text=True)]

    def _image(self, node: LexborNode) -> str:
        attributes = node.attributes
        source = image_source(attributes)
        if source is None:
            return ""
        return f"![{_escape(' '.join((attributes.get('alt') or '').split()))}](<{self._page.absolute(source)}>)"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _mark(text: str, mark: str) -> str:
    """Put the marks directly around the words: `** word**` is not emphasis in Markdown."""
    inner = text.strip()
    if not inner or BREAK in inner:
        return text
    start = text[: len(text) - len(text.lstrip())]
    return f"{start}{mark}{inner}{mark}{text[len(text.rstrip()) :]}"


def _fence(block: Block) -> str:
    code = block.node.css_first("code")
    parent = block.node.parent
    around = parent.parent if parent is not None else None
    nodes = [node for node in (block.node, code, parent, around) if node is not None]
    names = " ".join(node.attributes.get("class") or "" for node in nodes)
    found = _LANGUAGE.search(names)
    fence = "```"
    while fence in block.text:
        fence += "`"
    return f"{fence}{found[1] if found else ''}\n{block.text}\n{fence}"


def _indent(text: str, indent: str) -> str:
    return "\n".join(indent + line if line else line for line in text.split("\n")) if indent else text


def _prefix(text: str, prefix: str) -> str:
    return "\n".join(prefix + line if line else prefix.rstrip() for line in text.split("\n"))


def _rows(block: Block) -> list[Block]:
    found: list[Block] = []
    for kid in block.kids or ():
        if kid.tag == "tr" and kid.kids is not None:
            found.append(kid)
        elif kid.tag in ("tbody", "thead", "tfoot"):
            found.extend(_rows(kid))
    return found


def _is_data(table: Block) -> bool:
    """Return whether a table holds data; False if it only lays out the page."""
    rows = _rows(table)
    return bool(rows) and all(
        leaf_count < 4 for row in rows for leaf_count in (sum(1 for _ in cell.leaves()) for cell in row.kids or ())
    )


def _table_line(row: list[str], width: int) -> str:
    cells = [_escape(cell).replace("|", "\\|") for cell in row] + [""] * (width - len(row))
    return "| " + " | ".join(cells) + " |"
