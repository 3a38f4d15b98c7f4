"""The shape of a recipe: equal for two recordings that differ only in one-time tokens."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

_SLOT = re.compile(r"\{[^{}]*\}")
# A generated path segment: long, or letters mixed with digits, or a long number.
_VOLATILE = re.compile(r"[^/]{24,}|[0-9]{6,}|(?=[^/]*[0-9])(?=[^/]*[A-Za-z])[A-Za-z0-9_\-.=~]{8,}")


def shape_of(document: Mapping[str, Any]) -> str:
    """Return a key of the call targets and field sources, without the literal values that the calls send."""
    calls = [(call.get("method", "GET"), _url(str(call["url"])), _body(call.get("body"))) for call in document["calls"]]
    text = json.dumps([calls, document["fields"]], sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _url(url: str) -> list[Any]:
    # urlsplit leaves the braces of slots alone outside the host.
    origin, rest = ("{origin}", url[len("{origin}") :]) if url.startswith("{origin}") else ("", url)
    parts = urlsplit(rest)
    path = "/".join("*" if _is_volatile(segment) else segment for segment in parts.path.split("/"))
    query = sorted((name, _slots(value)) for name, value in parse_qsl(parts.query, keep_blank_values=True))
    return [origin or f"{parts.scheme}://{parts.netloc}", path, query]


def _is_volatile(segment: str) -> bool:
    return not _SLOT.search(segment) and _VOLATILE.fullmatch(segment) is not None


def _body(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _body(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_body(each) for each in value]
    return _slots(value) if isinstance(value, str) else type(value).__name__


def _slots(value: str) -> str:
    return "".join(_SLOT.findall(value))
