"""Archived pages of a crawl: the response as received, without its secrets."""

import base64
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from corral.domain.crawl.item import ItemResult
from corral.domain.redaction import is_secret_name, redact
from corral.domain.secret import REDACTED

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_SECRET_HEADERS = frozenset({"cookie", "set-cookie", "set-cookie2", "authorization", "proxy-authorization"})


# Upper limit of archived bytes in one report; larger pages go into separate reports.
_MAX_REPORT_CHARS = 32 * 1024 * 1024


class ArchivedPage(NamedTuple):
    """An archived page as read from the store."""

    id: int
    url: str
    requested_url: str | None  # the URL that redirected here
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
    """Return a page as JSON values, for the report of a worker."""
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
    return REDACTED if name.lower() in _SECRET_HEADERS or is_secret_name(name) else redact(value)


def split_by_size(ended: list[ItemResult]) -> tuple[list[ItemResult], list[ItemResult]]:
    """Split results into those that fit into a report and the rest."""
    total = 0
    for count, result in enumerate(ended):
        total += 0 if result.page is None else len(result.page["body"])
        if count and total > _MAX_REPORT_CHARS:
            return ended[:count], ended[count:]
    return ended, []
