"""Read what precedes the first element of an XML document, without an XML parser.

The XML parser receives the document from its first element on. It never sees a document type, so it can neither
expand an entity nor open a file or URL: libxml2 does so when it recovers from errors.
"""

import re
from dataclasses import dataclass

_SPACE = re.compile(r"[\s\ufeff]*")
_DOCTYPE = re.compile(r"<!DOCTYPE\b", re.IGNORECASE)
# Up to the end of the DOCTYPE, or to the bracket that opens its internal subset; quoted strings may hold both.
_DOCTYPE_HEAD = re.compile(r"""(?:"[^"]*"|'[^']*'|[^"'\[>]+)*""")
_ROOT = re.compile(r"<(?:[^\W\d][\w.-]*:)?(?P<name>[^\W\d][\w.-]*)")
_DECLARED = re.compile(rb"\s*<\?xml\b[^>]{0,200}?\bencoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})")
_FOREIGN = frozenset(("application/xhtml+xml", "image/svg+xml"))


@dataclass(frozen=True, slots=True)
class Prolog:
    """`root_at` is None if no element follows; `declares` is true if the DOCTYPE has an internal subset."""

    root_at: int | None
    root: str = ""
    declares: bool = False


def is_xml(content_type: str) -> bool:
    """Return whether a content type is XML. XHTML and SVG count as pages: the HTML parser reads both."""
    if content_type in _FOREIGN:
        return False
    return content_type in ("application/xml", "text/xml") or content_type.endswith("+xml")


def encoding_of_xml(body: bytes) -> str | None:
    """Return the encoding in the XML declaration.

    A declaration that is found as ASCII cannot be in UTF-16, so such a name is ignored.
    """
    found = _DECLARED.match(body[:400])
    name = found[1].decode("ascii") if found else ""
    return None if name.lower().startswith(("utf-16", "utf16", "ucs-2", "iso-10646")) else name or None


def prolog_of(text: str) -> Prolog:
    """Parse the prolog of a document, in time linear in its length."""
    offset = 0
    while True:
        offset = _skip_space(text, offset)
        if text.startswith("<?", offset):
            end = text.find("?>", offset)
            offset = end + 2
        elif text.startswith("<!--", offset):
            end = text.find("-->", offset + 4)
            offset = end + 3
        elif found := _DOCTYPE.match(text, offset):
            head = _DOCTYPE_HEAD.match(text, found.end())
            end = head.end() if head else len(text)
            if text.startswith("[", end):
                return Prolog(None, declares=True)
            end = end if text.startswith(">", end) else -1
            offset = end + 1
        else:
            root = _ROOT.match(text, offset)
            return Prolog(root.start(), root["name"]) if root else Prolog(None)
        if end < 0:
            return Prolog(None)


def _skip_space(text: str, offset: int) -> int:
    space = _SPACE.match(text, offset)
    return space.end() if space else offset
