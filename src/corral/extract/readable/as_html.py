"""Render blocks as clean HTML: text elements without classes, styles and scripts."""

from html import escape

from selectolax.lexbor import LexborNode

from corral.extract.page import Page
from corral.extract.readable.blocks import HEADINGS, Block, word_set
from corral.extract.readable.inline import image_source, is_omitted, link_target

_BLOCK_ELEMENTS = HEADINGS | word_set(
    "p ul ol li dl dt dd table thead tbody tfoot tr th td caption blockquote figure figcaption section article"
    " details summary"
)
_INLINE_ELEMENTS = word_set("a em strong b i u s del ins sub sup code kbd samp var q cite abbr mark small time")
# Attributes that have a meaning without the site's style sheets and scripts.
_ATTRIBUTES = ("colspan", "rowspan", "datetime", "cite", "lang", "dir", "start")


class HtmlRenderer:
    def __init__(self, page: Page) -> None:
        self._page = page

    def render(self, main: Block) -> str:
        parts: list[str] = []
        for kid in main.kids if main.kids is not None else (main,):
            self._add(kid, parts)
        return "\n".join(parts)

    def _add(self, block: Block, parts: list[str]) -> None:
        tag = block.tag
        if tag == "pre":
            parts.append(f"<pre>{escape(block.text, quote=False)}</pre>")
        elif block.kids is None:
            inner = self._inline_html(block)
            if inner:
                name = tag if tag in _BLOCK_ELEMENTS else "p"
                parts.append(f"<{name}{self._attributes(block.node) if tag else ''}>{inner}</{name}>")
        elif tag in _BLOCK_ELEMENTS:
            parts.append(f"<{tag}{self._attributes(block.node)}>")
            for kid in block.kids:
                self._add(kid, parts)
            parts.append(f"</{tag}>")
        else:
            for kid in block.kids:
                self._add(kid, parts)

    def _inline_html(self, block: Block) -> str:
        if block.inline is None:
            pieces = self._read_kids(block.node, 0)
        elif block.inline:
            pieces = [self._read(node, 0) for node in block.inline]
        else:
            pieces = [escape(block.text, quote=False).replace("\n", "<br>")]
        return " ".join("".join(pieces).split())

    def _read(self, node: LexborNode, depth: int) -> str:
        tag = node.tag or ""
        if tag == "-text":
            return escape(node.text_content or "", quote=False)
        if tag == "br":
            return "<br>"
        if tag == "img":
            return self._image(node)
        attributes = node.attributes
        if is_omitted(tag, attributes, depth):
            return ""
        inner = "".join(self._read_kids(node, depth + 1))
        if tag not in _INLINE_ELEMENTS:
            return inner
        return f"<{tag}{self._attributes(node)}>{inner}</{tag}>" if inner.strip() else inner

    def _read_kids(self, node: LexborNode, depth: int) -> list[str]:
        return [self._read(child, depth) for child in node.iter(include_text=True)]

    def _image(self, node: LexborNode) -> str:
        attributes = node.attributes
        source = image_source(attributes)
        if source is None:
            return ""
        return f'<img src="{escape(self._page.absolute(source))}" alt="{escape(attributes.get("alt") or "")}">'

    def _attributes(self, node: LexborNode) -> str:
        attributes = node.attributes
        rendered = {name: attributes[name] for name in _ATTRIBUTES if attributes.get(name)}
        href = link_target(attributes)
        if href:
            rendered["href"] = self._page.absolute(href)
        return "".join(f' {name}="{escape(value or "")}"' for name, value in rendered.items())
