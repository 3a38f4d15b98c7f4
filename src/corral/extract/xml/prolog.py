"""What stands before the first element of an XML document, read without a parser.

The parser is given the document from its first element on. It never sees a document type, so that it can neither
expand an entity nor open the file or the address that one names: libxml2 does, when it is to recover from mistakes.
"""

import re
from dataclasses import dataclass

_SPACE = re.compile(r"[\s\ufeff]*")
_DOCTYPE = re.compile(r"<!DOCTYPE\b", re.IGNORECASE)
# Up to its end, or to the bracket that opens declarations; what is quoted may hold either.
_DOCTYPE_HEAD = re.compile(r"""(?:"[^"]*"|'[^']*'|[^"'\[>]+)*""")
_ROOT = re.compile(r"<(?:[^\W\d][\w.-]*:)?(?P<name>[^\W\d][\w.-]*)")
_DECLARED = re.compile(rb"\s*<\?xml\b[^>]{0,200}?\bencoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})")
_FOREIGN = frozenset(("application/xhtml+xml", "image/svg+xml"))


@dataclass(frozen=True, slots=True)
class Prolog:
    """`root_at` is None where no element begins after it; `declares` is true where it has declarations of its own."""

    root_at: int | None
    root: str = ""
    declares: bool = False


def is_xml(content_type: str) -> bool:
    """By the declared type. XHTML and SVG are pages: browsers show them, and the reader of HTML understands both."""
    if content_type in _FOREIGN:
        return False
    return content_type in ("application/xml", "text/xml") or content_type.endswith("+xml")


def encoding_of_xml(body: bytes) -> str | None:
    """Of the XML declaration, which is ASCII in every encoding that it could name and still be found here."""
    found = _DECLARED.match(body[:400])
    name = found[1].decode("ascii") if found else ""
    return None if name.lower().startswith(("utf-16", "utf16", "ucs-2", "iso-10646")) else name or None


def prolog_of(text: str) -> Prolog:
    """In linear time, whatever the text is."""
    place = 0
    while True:
        place = _skip_space(text, place)
        if text.startswith("<?", place):
            end = text.find("?>", place)
            place = end + 2
        elif text.startswith("<!--", place):
            end = text.find("-->", place + 4)
            place = end + 3
        elif found := _DOCTYPE.match(text, place):
            head = _DOCTYPE_HEAD.match(text, found.end())
            end = head.end() if head else len(text)
            if text.startswith("[", end):
                return Prolog(None, declares=True)
            end = end if text.startswith(">", end) else -1
            place = end + 1
        else:
            root = _ROOT.match(text, place)
            return Prolog(root.start(), root["name"]) if root else Prolog(None)
        if end < 0:
            return Prolog(None)


def _skip_space(text: str, place: int) -> int:
    space = _SPACE.match(text, place)
    return space.end() if space else place
