"""By recipe: the calls that fill a page, made over HTTP, without the page and without a browser."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from corral.domain.errors import BadInput
from corral.domain.hosts.limiter import Visit
from corral.domain.jobs.job import FieldSpec
from corral.domain.net.http_cache import together
from corral.domain.net.url import Target, parse_target
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome, Task
from corral.domain.runs.status_classes import failure_of_status
from corral.domain.sites.cookies import RunCookies
from corral.domain.sites.recipe.recipe import Recipe, Request, ShapeChange, recipe_of
from corral.extract.value_limit import cut_record, limit_values
from corral.extract.values import storable
from corral.fetch.cache.client import NO_CACHE, Asked, PageCache
from corral.fetch.egress.client import Egress
from corral.fetch.faults import fault
from corral.fetch.http import cost_of, fields_of, first_byte_of
from corral.fetch.proxy.route import Proxies, RunRoute
from corral.fetch.response import Response
from corral.fetch.robots import Robots

_JSON = "application/json"
_MAX_SHOWN_CHARS = 500
_MAX_RECIPES = 256


@dataclass(frozen=True, slots=True)
class _Replay:
    """How far and how long one replay may go."""

    trusted_hosts: frozenset[str]
    respects_robots: bool
    ends_at: float
    via: RunRoute | None = None
    visit: Visit | None = None
    cookies: RunCookies = field(default_factory=RunCookies)
    first_byte_s: float | None = None

    def left_s(self) -> float:
        return max(0.0, self.ends_at - time.monotonic())


class ApiReplayExecutor:
    def __init__(
        self, egress: Egress, robots: Robots, *, cache: PageCache = NO_CACHE, proxies: Proxies | None = None
    ) -> None:
        self._cache = cache
        self._proxies = proxies or Proxies(egress)
        self._egress = egress
        self._robots = robots
        self._recipes: dict[tuple[str, int], Recipe] = {}  # read once: the same few serve thousands of pages

    async def execute(self, task: Task) -> Outcome:
        payload = task.payload
        way = _Replay(
            trusted_hosts=frozenset(payload.get("trusted_hosts") or ()),
            respects_robots=payload.get("respect_robots", True),
            ends_at=time.monotonic() + task.timeout_s,
            visit=task.visit,
            first_byte_s=first_byte_of(payload),
        )
        try:
            target = parse_target(payload["url"])
            recipe = self._recipe(payload.get("recipe"))
        except BadInput as problem:
            return fault("policy:url", problem.message)
        if recipe is None:
            return fault("policy:no_recipe")
        requests = recipe.requests(target)
        if isinstance(requests, ShapeChange):
            return _changed(requests.what, {})
        verifies_tls = payload.get("verify_tls", True)
        patience_s = way.first_byte_s
        async with self._proxies.open_route(
            task.proxy, way.trusted_hosts, verifies_tls=verifies_tls, first_byte_s=patience_s
        ) as via:
            outcome = await self._replayed(recipe, requests, target, replace(way, via=via), fields_of(payload))
            if way.respects_robots:
                outcome.stats.update(self._robots.notes(target, via=via))
            return outcome

    def _recipe(self, cell: Any) -> Recipe | None:
        if not isinstance(cell, dict):
            return None
        key = (str(cell.get("id")), int(cell.get("version") or 0))
        known = self._recipes.get(key)
        if known is None:
            document = {"calls": cell.get("calls"), "fields": cell.get("fields")}
            known = recipe_of(str(cell.get("url_pattern")), document)
            if len(self._recipes) >= _MAX_RECIPES:
                self._recipes.clear()
            self._recipes[key] = known
        return known

    async def _refusal(self, target: Target, way: _Replay) -> Failed | None:
        if not way.respects_robots:
            return None
        return await self._robots.refusal(
            target, trusted_hosts=way.trusted_hosts, budget_s=way.left_s(), via=way.via, visit=way.visit
        )

    async def _replayed(
        self, recipe: Recipe, requests: list[Request], target: Target, way: _Replay, fields: tuple[FieldSpec, ...]
    ) -> Outcome:
        stats: dict[str, Any] = {"title": None, "final_url": target.url, "requests": 0, "cost": 0, "bytes": 0}
        documents = []
        for request in requests:
            answer = await self._asked(request, target, way)
            if isinstance(answer, Failed):
                return answer
            _count(stats, answer)
            document = _document_of(answer, stats)
            if isinstance(document, Failed):
                return document
            documents.append(document[0])
        values = recipe.read(documents, target)
        if isinstance(values, ShapeChange):
            return _changed(f"{values.field}: {values.what}", stats)
        with limit_values(self._egress.limits.max_value_chars):
            found = {spec.name: storable(values.get(spec.name)) or ([] if spec.all else None) for spec in fields}
            record, cut = cut_record(found)
        if cut:
            stats["problems"] = cut
        return Fetched(stats, (record,), tuple(name for name, value in record.items() if not value))

    async def _asked(self, request: Request, page: Target, way: _Replay) -> Response | Failed:
        try:
            target = parse_target(request.url, max_chars=8192)
        except BadInput as problem:
            return fault("policy:url", problem.message)
        is_post = request.method == "POST"
        given = {"accept": _JSON, **request.headers}

        async def allows(called: Target) -> Failed | None:
            refusal = await self._refusal(called, way)
            # The page itself may be had: the browser makes this call as a part of it.
            return refusal and Failed(FailureCode.EXTRACTION, refusal.message, "replay_refused")

        async def allowed() -> Failed | None:
            return await self._refusal(page, way) or await allows(target)

        async def live(headers: Mapping[str, str]) -> Response | Failed:
            return await self._egress.fetch(
                request.url,
                timeout_s=way.left_s(),
                headers={**given, **headers},
                trusted_hosts=way.trusted_hosts,
                body=orjson.dumps(request.body) if is_post else None,
                via=way.via,
                cookies=way.cookies,
                visit=way.visit,
                allows=allows,
                first_byte_s=way.first_byte_s,
            )

        if is_post:
            return await allowed() or await live({})
        asked = Asked(
            request.url,
            given,
            trusted_hosts=way.trusted_hosts,
            respects_robots=way.respects_robots,
            is_known=bool(way.cookies.header_for(target, time.time())),
            through=way.via.through if way.via else "",
        )
        return await self._cache.fetch(asked, live, allowed)


def _count(stats: dict[str, Any], answer: Response) -> None:
    stats["http_status"] = answer.status
    stats["content_type"] = (answer.header("content-type") or "").split(";")[0].strip().lower()[:_MAX_SHOWN_CHARS]
    stats["content_length"] = stats.get("content_length", 0) + len(answer.body)
    stats["bytes"] += answer.raw_bytes
    stats["requests"] += 1
    stats["cost"] += cost_of(answer)
    if answer.cache is not None:
        stats["cache"] = together([answer.cache, stats.get("cache", answer.cache)])
    stats["redirects"] = stats.get("redirects", 0) + len(answer.chain)
    before = stats.get("timings", {})
    stats["timings"] = {name: before.get(name, 0) + value for name, value in answer.timings.items()}


def _document_of(answer: Response, stats: dict[str, Any]) -> tuple[Any] | Failed:
    """The JSON of an answer, in a tuple because it may be anything."""
    failure = failure_of_status(answer.status, retry_after=answer.header("retry-after"), stats=stats)
    if failure is not None and (failure.code is not FailureCode.BAD_RESPONSE or answer.status >= 500):
        return failure
    if failure is not None:
        # Not what the page would answer: the call may only have moved.
        return _changed(f"the call was answered {answer.status}", stats)
    try:
        return (orjson.loads(answer.body),)
    except orjson.JSONDecodeError:
        return _changed("the answer is not JSON", stats)


def _changed(what: str, stats: dict[str, Any]) -> Failed:
    return fault("extraction:shape_changed", what, **stats)
