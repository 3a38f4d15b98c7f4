"""Send a short first request to a target. It informs the choice of a strategy and never fails a job."""

import time
from collections.abc import Sequence
from dataclasses import replace

from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.hosts.limiter import UNLIMITED, HostAccess
from corral.domain.net.url import parse_target
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.probe import Probe
from corral.domain.runs.status_classes import failure_of_status
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.fetch.cache.client import NO_CACHE, CacheRequest, PageCache
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchContext, FetchRequest
from corral.fetch.limits import MIB
from corral.fetch.parsing.pool import InProcessReader, PageReader
from corral.fetch.proxy.route import UnverifiedRoute
from corral.fetch.response import Response

_MAX_BYTES = 2 * MIB
_MAX_TYPE_CHARS = 100
_SUCCESS: Outcome = Fetched()
_PARSE_S = 1.0  # minimum time for parsing, even if the page arrives at the end of the budget


async def probe(
    egress: Egress,
    url: str,
    fields: Sequence[FieldSpec],
    trusted_hosts: frozenset[str] = frozenset(),
    budget_s: float = 3.0,
    *,
    reader: PageReader | None = None,
    cache: PageCache = NO_CACHE,
    verifies_tls: bool = True,
    host_access: HostAccess = UNLIMITED,
) -> Probe:
    """Fetch the document once, up to two megabytes of it, and check whether it needs scripts."""
    ends_at = time.monotonic() + budget_s
    context = FetchContext(trusted_hosts, None if verifies_tls else UnverifiedRoute(egress))
    answer = await _find_recorded(cache, url, context) or await _fetch(egress, url, context, budget_s, host_access)
    if isinstance(answer, Deferred):
        return Probe(status=None, failure=answer)
    if isinstance(answer, Failed):
        unresolved = answer.code is FailureCode.NETWORK and answer.detail == "dns"
        return Probe(status=None, failure=answer, resolved=not unresolved)
    content_type = answer.header("content-type") or ""
    is_page = answer.status == 200 and ("html" in content_type or not content_type)
    if not answer.body:
        return Probe(status=answer.status, what="nothing at all")
    if not is_page:
        return Probe(status=answer.status, what=(content_type.partition(";")[0].strip() or "no page")[:_MAX_TYPE_CHARS])
    request = ReadRequest(
        answer.body, answer.url, url, headers=answer.headers, fields=tuple(fields), is_shell_check=True
    )
    read = await (reader or InProcessReader()).read(request, max(_PARSE_S, ends_at - time.monotonic()))
    return Probe(status=answer.status, is_shell=isinstance(read, ReadAnswer) and read.is_shell)


async def _fetch(
    egress: Egress, url: str, context: FetchContext, budget_s: float, host_access: HostAccess
) -> Response | Failed | Deferred:
    visit, outcome = host_access.visit(), None
    request = FetchRequest(url, budget_s, max_bytes=_MAX_BYTES, truncate=True)
    try:
        answer = await egress.fetch(request, replace(context, visit=visit))
        outcome = failure_of_status(answer.status) or _SUCCESS if isinstance(answer, Response) else answer
        return answer
    finally:
        visit.end(outcome)


async def _find_recorded(cache: PageCache, url: str, context: FetchContext) -> Response | None:
    """Return the page that a replay would use: if the run sends no request, neither does its probe."""
    try:
        target = parse_target(url)
    except BadInput:
        return None
    for respects_robots in (True, False):
        request = CacheRequest(
            target.url,
            trusted_hosts=context.trusted_hosts,
            respects_robots=respects_robots,
            route_name=context.route_name,
        )
        if (page := await cache.peek(request)) is not None:
            return page
    return None
