"""Requests to the addresses in the data inventory, through the egress."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from corral.domain.coverage.errors import InventoryUnreadable
from corral.domain.ports.coverage import HttpAnswer, HttpReader
from corral.domain.runs.outcome import Deferred, Failed
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchContext, FetchRequest

_TIMEOUT_S = 120.0
_MAX_ANSWER_BYTES = 50 * 1024 * 1024


def make_http_reader(egress: Egress) -> HttpReader:
    """Return a reader that uses the egress. It trusts every host, because the operator wrote the data inventory."""

    async def read(url: str, headers: Mapping[str, str] = {}) -> HttpAnswer:
        host = urlsplit(url).hostname or ""
        request = FetchRequest(url, _TIMEOUT_S, headers, max_bytes=_MAX_ANSWER_BYTES)
        answer = await egress.fetch(request, FetchContext(trusted_hosts=frozenset({host})))
        if isinstance(answer, Failed | Deferred):
            raise InventoryUnreadable(f"no answer from {host}: {answer.message}")
        return HttpAnswer(answer.status, answer.header("content-type") or "", answer.body)

    return read
