"""Text helpers that several sources share."""

import html
import re

from corral.extract.page import normalize_space

_NOT_ALNUM = re.compile(r"[\W_]+")
_TAG = re.compile(r"<[a-zA-Z/!][^<>]{0,2000}>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-fA-F]{1,6}|[a-zA-Z]{2,10});")
_ZERO_WIDTH = dict.fromkeys(map(ord, "\u200b\u200e\u200f\u2060\ufeff\u00ad"))


def plain(name: str) -> str:
    """Return a name without separators in lower case: `published_at`, `publishedAt` and `published at` are equal."""
    return _NOT_ALNUM.sub("", name).lower()


def local_name(name: str) -> str:
    """Return the local part of a name: `Product` of `http://schema.org/Product` and `schema:Product`."""
    return name.rstrip("/").rpartition("/")[2].rpartition("#")[2].rpartition(":")[2] or name


def clean_value(text: str | None) -> str | None:
    """Return a text as one line without markup: structured data often holds HTML or doubly escaped entities."""
    if not text:
        return None
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    squeezed = normalize_space(text.translate(_ZERO_WIDTH))
    return squeezed or None


def fold(text: str) -> str:
    """Return a text for comparisons: without case, space and punctuation."""
    return _NOT_ALNUM.sub("", text).casefold()
