"""A first look at a target, short and forgiving: it informs a choice, it decides nothing."""

import time
from collections.abc import Sequence

from corral.domain.errors import BadInput
from corral.domain.hosts.limiter import NO_GATES, Gates
from corral.domain.jobs.job import FieldSpec
from corral.domain.net.url import parse_target
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.probe import Probe
from corral.domain.runs.status_classes import failure_of_status
from corral.extract.page_reader import ReadAnswer, ReadRequest
from corral.fetch.cache.client import NO_CACHE, Asked, PageCache
from corral.fetch.egress.client import Egress
from corral.fetch.limits import MIB
from corral.fetch.parsing.pool import InProcessReader, PageReader
from corral.fetch.proxy.route import UnverifiedRoute
from corral.fetch.response import Response

_MAX_BYTES = 2 * MIB
_MAX_SHOWN_CHARS = 100
_WELL: Outcome = Fetched()
_READING_S = 1.0  # a page that came late is still looked at


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
    gates: Gates = NO_GATES,
) -> Probe:
    """Ask once and look at the whole document, up to two megabytes of it."""
    ends_at = time.monotonic() + budget_s
    via = None if verifies_tls else UnverifiedRoute(egress)
    answer = await _recorded(cache, url, trusted_hosts, via) or await _asked(
        egress, url, trusted_hosts, budget_s, gates, via
    )
    if isinstance(answer, Failed):
        unresolved = answer.code is FailureCode.NETWORK and answer.detail == "dns"
        return Probe(status=None, failure=answer, resolved=not unresolved)
    content_type = answer.header("content-type") or ""
    is_page = answer.status == 200 and ("html" in content_type or not content_type)
    if not answer.body:
        return Probe(status=answer.status, what="nothing at all")
    if not is_page:
        return Probe(
            status=answer.status, what=(content_type.partition(";")[0].strip() or "no page")[:_MAX_SHOWN_CHARS]
        )
    request = ReadRequest(answer.body, answer.url, url, headers=answer.headers, fields=tuple(fields), looks_only=True)
    read = await (reader or InProcessReader()).read(request, max(_READING_S, ends_at - time.monotonic()))
    return Probe(status=answer.status, is_shell=isinstance(read, ReadAnswer) and read.is_shell)


async def _asked(  # noqa: PLR0917 - the parts of one request
    egress: Egress,
    url: str,
    trusted_hosts: frozenset[str],
    budget_s: float,
    gates: Gates,
    via: UnverifiedRoute | None,
) -> Response | Failed:
    turn, outcome = gates.visit(), None
    try:
        answer = await egress.fetch(
            url,
            timeout_s=budget_s,
            max_bytes=_MAX_BYTES,
            trusted_hosts=trusted_hosts,
            truncate=True,
            via=via,
            visit=turn,
        )
        outcome = answer if isinstance(answer, Failed) else failure_of_status(answer.status) or _WELL
        return answer
    finally:
        turn.end(outcome)


async def _recorded(
    cache: PageCache, url: str, trusted_hosts: frozenset[str], via: UnverifiedRoute | None
) -> Response | None:
    """The page as a replay would answer it: a choice for a run that asks nobody is made without asking either."""
    try:
        target = parse_target(url)
    except BadInput:
        return None
    for respects in (True, False):
        through = via.through if via else ""
        asked = Asked(target.url, trusted_hosts=trusted_hosts, respects_robots=respects, through=through)
        if (found := await cache.peek(asked)) is not None:
            return found
    return None
