"""The `http` strategy: fetch one page, read it, and turn it into a record."""

import functools
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from corral.domain.cost.spent import SPENT
from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.hosts.limiter import Visit
from corral.domain.net.http_cache import CacheUse
from corral.domain.net.url import Target, parse_target
from corral.domain.ports.execution import Task
from corral.domain.runs.completeness.script_content import SCRIPT_CONTENT
from corral.domain.runs.outcome import AttemptOutcome, Deferred, Failed, Fetched, Outcome
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.status_classes import failure_of_status
from corral.extract.classify.insertions import read_script
from corral.extract.documents import PACKED, is_text
from corral.extract.page_reader import ReadRequest, nothing_found
from corral.fetch.answer_check import failure_read, outcome_of_read
from corral.fetch.cache.client import NO_CACHE, CacheRequest, PageCache
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import CostMeter, FetchContext, FetchRequest, Route
from corral.fetch.faults import fault
from corral.fetch.limits import MIB
from corral.fetch.parsing.pool import InProcessReader, PageReader
from corral.fetch.proxy.route import Proxies
from corral.fetch.response import Response
from corral.fetch.robots import Robots
from corral.fetch.sessions import credentials_of

_MAX_TYPE_CHARS = 500
_MAX_SCRIPTS = 5
_OK = 200
SCRIPTS = "scripts"  # in the statistics, until the scripts are inspected


class HttpExecutor:
    def __init__(
        self,
        egress: Egress,
        robots: Robots,
        reader: PageReader | None = None,
        *,
        cache: PageCache = NO_CACHE,
        proxies: Proxies | None = None,
    ) -> None:
        self._cache = cache
        self._proxies = proxies or Proxies(egress)
        self._egress = egress
        self._robots = robots
        self._reader = reader or InProcessReader()

    async def execute(self, task: Task) -> Outcome:
        ends_at = time.monotonic() + task.timeout_s
        payload = task.payload.read(PagePayload)
        try:
            target = parse_target(payload.url)
        except BadInput as problem:
            return fault("policy:url", problem.message)
        first_byte_s = payload.timeout_s  # the job's own time limit also bounds how late an answer may begin
        async with self._proxies.open_route(
            task.proxy, payload.trusted, verifies_tls=payload.verify_tls, first_byte_s=first_byte_s
        ) as route:
            meter = CostMeter()
            context = context_of(task, route, visit=task.visit, first_byte_s=first_byte_s, meter=meter)
            answer = await self._fetch(task, target, ends_at, context)
            if isinstance(answer, Deferred):
                return answer
            if isinstance(answer, Failed):
                outcome: AttemptOutcome = answer
            else:
                if task.visit is not None and 200 <= answer.status < 300:
                    task.visit.free_slots()
                outcome = await outcome_of(answer, payload.fields, self._reader, ends_at)
            if (scripts := outcome.stats.pop(SCRIPTS, None)) is not None:
                outcome.stats.update(await self._check_scripts(scripts, context, ends_at))
        meter.cpu_ms = int(outcome.stats.pop("cpu_ms", 0))
        outcome.stats[SPENT] = meter.document()
        if payload.respect_robots:
            outcome.stats.update(self._robots.notes(target, context))
        return outcome

    async def _check_scripts(self, scripts: dict[str, Any], context: FetchContext, ends_at: float) -> dict[str, Any]:
        """Return the mark of a page whose scripts probably add values: script files are inspected, never run."""
        _, inserts, is_likely, gaps = scripts["signs"]
        is_open = not (inserts and is_likely) and (gaps or is_likely)
        for url in scripts["files"][:_MAX_SCRIPTS] if is_open else ():
            request = FetchRequest(url, max(0.0, ends_at - time.monotonic()), max_bytes=MIB, truncate=True)
            answer = await self._egress.fetch(request, context)
            if isinstance(answer, Response) and answer.status == _OK:
                facts = read_script(answer.body.decode("utf-8", "replace"))
                inserts, is_likely = inserts or facts.inserts, is_likely or not facts.names.isdisjoint(gaps)
        return {SCRIPT_CONTENT: True} if inserts and is_likely else {}

    async def _fetch(
        self, task: Task, target: Target, ends_at: float, context: FetchContext
    ) -> Response | Failed | Deferred:
        respects_robots = task.payload.read(PagePayload).respect_robots

        async def check(following: Target) -> Failed | None:
            if not respects_robots:
                return None
            return await self._robots.refusal(following, context, budget_s=task.timeout_s)

        async def fetch_live(headers: Mapping[str, str]) -> Response | Failed | Deferred:
            timeout_s = max(0.0, ends_at - time.monotonic())
            return await self._egress.fetch(FetchRequest(target.url, timeout_s, headers, check_redirect=check), context)

        request = CacheRequest(
            target.url,
            trusted_hosts=context.trusted_hosts,
            respects_robots=respects_robots,
            has_login=task.session is not None,
            route_name=context.route_name,
        )
        return await self._cache.fetch(request, fetch_live, functools.partial(check, target))


def context_of(
    task: Task,
    route: Route | None = None,
    *,
    visit: Visit | None = None,
    first_byte_s: float | None = None,
    meter: CostMeter | None = None,
) -> FetchContext:
    """Build the context that the requests of a task share, with the credentials of its session."""
    return FetchContext(
        trusted_hosts=task.payload.read(CommonPayload).trusted,
        route=route,
        visit=visit,
        credentials=functools.partial(credentials_of, task),
        first_byte_s=first_byte_s,
        meter=meter,
    )


def cost_of(answer: Response) -> int:
    """Return how many requests the answer needed."""
    return 0 if answer.cache == CacheUse.HIT else 1 + len(answer.chain)


async def outcome_of(
    answer: Response, fields: tuple[FieldSpec, ...], reader: PageReader, ends_at: float
) -> AttemptOutcome:
    """Classify an answer and read its fields; `ends_at` is on the monotonic clock."""
    content_type = (answer.header("content-type") or "").split(";")[0].strip().lower()[:_MAX_TYPE_CHARS]
    stats: dict[str, Any] = {
        "http_status": answer.status,
        "content_type": content_type or None,
        "content_length": len(answer.body),
        "title": None,
        "final_url": answer.url,
        "redirects": len(answer.chain),
        "bytes": answer.raw_bytes,
        "cost": cost_of(answer),
        "timings": answer.timings,
    }
    if answer.cache is not None:
        stats["cache"] = answer.cache
    if not is_text(content_type, answer.body):
        nothing = nothing_found(fields)
        stats["is_binary"] = True
        if answer.body.startswith(PACKED):
            stats["is_packed"] = True
        failure = failure_of_status(answer.status, retry_after=answer.header("retry-after"), stats=stats)
        return failure or Fetched(stats, (nothing.record,), nothing.missing)
    started = time.monotonic()
    first_url = answer.chain[0] if answer.chain else answer.url
    request = ReadRequest(answer.body, answer.url, first_url, answer.status, answer.headers, fields)
    read = await reader.read(request, max(0.0, ends_at - started))
    stats["timings"] = {**answer.timings, "parse_ms": round((time.monotonic() - started) * 1000)}
    if isinstance(read, Failed):
        return replace(read, stats={**stats, **read.stats})
    stats |= {"encoding": read.encoding, "replacements": read.replacements, "title": read.title, "cpu_ms": read.cpu_ms}
    if read.charset is not None:
        stats["charset"] = read.charset
    stats |= read.notes()
    if read.scripts is not None:
        stats[SCRIPTS] = read.scripts
    return failure_read(read, stats) or outcome_of_read(read, stats)
