"""Text and links of documents that are not HTML: plain text, JSON, feeds and other XML."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from corral.extract.charset import clean_text
from corral.extract.links import Directives, Links
from corral.extract.readable.article import Article, make_article
from corral.extract.value_limit import capture_limit

PACKED = b"\x1f\x8b\x08"  # gzip without a Content-Encoding: browsers do not unpack it either
_TEXTS = frozenset({"application/xml", "application/html", "application/xhtml", "application/rss", "application/atom"})

# Text for programs: URLs in it are not links.
_CODE = ("javascript", "ecmascript", "css")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`{}|\\^\[\]]+", re.IGNORECASE)
_MARKDOWN = re.compile(r"\]\(\s*<?([^)\s>]+)")
# Punctuation that ends a sentence, not an address.
_TRAILING = ".,;:!?'\""
_RELATIVE = ("/", "./", "../", "?")
# Keys of JSON objects and names of XML elements and attributes whose values are URLs, also relative ones.
_ELEMENTS = ("url", "uri", "href", "link", "links", "src", "loc", "permalink", "guid", "enclosure", "comments")
_NAMES = frozenset((*_ELEMENTS, "html_url", "next", "prev", "previous", "first", "last", "self"))


class Document(NamedTuple):
    article: Article
    links: Links


NOTHING = Document(Article(None, "", 0, 0), Links((), frozenset(), 0, "", None, Directives()))


def document_of(text: str, content_type: str, title: str | None, root: Any = None) -> Document:
    """Return the text and the links of a document. `root` is the root element of XML; None for JSON and text."""
    if root is not None:
        body, references = " ".join(_texts(root)), _of_elements(root)
    elif "json" in content_type:
        body, references = text, _of_json(text)
    elif any(kind in content_type for kind in _CODE):
        body, references = text, iter(())
    else:
        body, references = text, _of_text(text, is_markdown="markdown" in content_type)
    # No limit here: the caller knows which of them belong to the crawl, and counts those beyond the limit.
    found = dict.fromkeys(references)
    links = Links(tuple(found), frozenset(), 0, "", None, Directives())
    return Document(_article(body, title), links)


def _article(body: str, title: str | None) -> Article:
    """Make an article of a text. Its line breaks stay: they carry meaning in plain text."""
    text = clean_text(body[: capture_limit()]).strip()
    return make_article(title, text)


def _of_text(text: str, *, is_markdown: bool) -> Iterator[str]:
    for found in _ADDRESS.finditer(text):
        yield _trim_address(found[0])
    if is_markdown:
        for found in _MARKDOWN.finditer(text):
            reference = found[1].partition("#")[0]
            if reference and "://" not in reference and ":" not in reference.partition("/")[0]:
                yield reference


def _trim_address(address: str) -> str:
    """Return the URL without trailing punctuation, and without a closing bracket that was opened before it."""
    address = address.partition("#")[0].rstrip(_TRAILING)
    while address.endswith(")") and address.count("(") < address.count(")"):
        address = address[:-1].rstrip(_TRAILING)
    return address


def _of_json(text: str) -> Iterator[str]:
    try:
        document = json.loads(text, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        yield from _of_text(text, is_markdown=False)
        return
    stack: list[tuple[str, Any]] = [("", document)]
    while stack:
        name, value = stack.pop()
        if isinstance(value, dict):
            stack.extend((str(key), entry) for key, entry in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend((name, entry) for entry in reversed(value))
        elif isinstance(value, str) and _is_address(value, name):
            yield value.partition("#")[0]


def _texts(root: Any) -> Iterator[str]:
    for piece in root.itertext():
        if piece and (text := " ".join(piece.split())):
            yield text


def _of_elements(root: Any) -> Iterator[str]:
    for element in root.iter():
        if not isinstance(element.tag, str):  # a comment or a processing instruction
            continue
        for name, value in element.attrib.items():
            if _is_address(value, _local(name)):
                yield value.strip().partition("#")[0]
        text = (element.text or "").strip()
        if _is_address(text, _local(element.tag)):
            yield text.partition("#")[0]


def _local(name: str) -> str:
    return name.rpartition("}")[2].rpartition(":")[2]


def _is_address(value: str, name: str) -> bool:
    """Return whether a value is a URL: any absolute URL, but a relative one only under a name from `_NAMES`."""
    value = value.strip()
    if not value or len(value) > 8192 or any(char.isspace() for char in value):
        return False
    if value[:8].lower().startswith(("http://", "https://")):
        return True
    return name.lower() in _NAMES and (value.startswith(_RELATIVE) or "." in value or "/" in value) and ":" not in value


def is_text(content_type: str, body: bytes) -> bool:
    """Return whether a body is text, by its declared type, else by the absence of NUL bytes near its start.

    A gzip body is never text.
    """
    if body.startswith(PACKED):
        return False
    if not content_type:
        return b"\0" not in body[:1024]
    return is_text_type(content_type)


def is_text_type(content_type: str) -> bool:
    """Return whether a content type is text.

    "xml" anywhere in the name does not count: office documents are `…openxmlformats…`, which are ZIP archives.
    """
    kind, _, subtype = content_type.partition("/")
    if kind == "text" or content_type in _TEXTS or subtype.endswith(("+xml", "+json", "/xml")):
        return True
    return kind == "application" and any(word in subtype for word in ("json", "javascript", "ecmascript", "yaml"))
