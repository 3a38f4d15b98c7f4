"""Requests to the addresses in the data inventory, through the egress."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from corral.domain.coverage.errors import InventoryUnreadable
from corral.domain.ports.coverage import HttpAnswer, HttpReader
from corral.domain.runs.outcome import Deferred, Failed
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchContext, FetchRequest

_TIMEOUT_S = 120.0
_MOST_ANSWER_BYTES = 50 * 1024 * 1024


def make_http_reader(egress: Egress) -> HttpReader:
    """Requests through the egress. A host in the data inventory was written there by the operator and is trusted."""

    async def read(url: str, headers: Mapping[str, str] = {}) -> HttpAnswer:
        host = urlsplit(url).hostname or ""
        request = FetchRequest(url, _TIMEOUT_S, headers, max_bytes=_MOST_ANSWER_BYTES)
        found = await egress.fetch(request, FetchContext(trusted_hosts=frozenset({host})))
        if isinstance(found, Failed | Deferred):
            raise InventoryUnreadable(f"no answer from {host}: {found.message}")
        return HttpAnswer(found.status, found.header("content-type") or "", found.body)

    return read
