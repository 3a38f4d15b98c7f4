"""Archived pages of a crawl: the response as it came, without its secrets."""

import base64
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from corral.domain.crawl.item import ItemResult
from corral.domain.redaction import is_secret_name, redact
from corral.domain.secret import SHOWN

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_SECRET_HEADERS = frozenset({"cookie", "set-cookie", "set-cookie2", "authorization", "proxy-authorization"})


# Of kept pages in one report: many large ones are told one after the other.
_TOLD_CHARS = 32 * 1024 * 1024


class ArchivedPage(NamedTuple):
    """As it is read back."""

    id: int
    url: str
    requested_url: str | None  # where a redirect led here from
    http_status: int
    headers: list[list[str]]
    packed: bytes
    fetched_at: int

    @property
    def body(self) -> bytes:
        return zstd.decompress(self.packed)


def page_document(
    url: str,
    requested_url: str | None,
    *,
    http_status: int,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    fetched_at: int,
) -> dict[str, Any]:
    """What a worker tells of a page: plain values, which travel as JSON."""
    return {
        "url": redact(url),
        "requested_url": None if requested_url is None else redact(requested_url),
        "http_status": http_status,
        "headers": [[name, _redact_header(name, value)] for name, value in headers],
        "body": base64.b64encode(zstd.compress(body)).decode(),
        "fetched_at": fetched_at,
    }


def body_of(document: dict[str, Any]) -> bytes:
    return base64.b64decode(document["body"])


def _redact_header(name: str, value: str) -> str:
    return SHOWN if name.lower() in _SECRET_HEADERS or is_secret_name(name) else redact(value)


def split_by_size(ended: list[ItemResult]) -> tuple[list[ItemResult], list[ItemResult]]:
    """The first of them, as many as fit into a report; and the others."""
    total = 0
    for count, each in enumerate(ended):
        total += 0 if each.page is None else len(each.page["body"])
        if count and total > _TOLD_CHARS:
            return ended[:count], ended[count:]
    return ended, []
