"""The `api_replay` strategy: make the JSON calls of a recipe over HTTP, without the page or a browser."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import orjson

from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec, unflatten
from corral.domain.net.http_cache import combine_uses
from corral.domain.net.url import Target, parse_target
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.status_classes import failure_of_status
from corral.domain.sites.cookies import RunCookies
from corral.domain.sites.recipe.recipe import Recipe, ReplayRequest, ShapeChange, recipe_of
from corral.extract.fields.extract import fill_from_raw
from corral.extract.fields.raw import page_facts
from corral.extract.types.model import TypeContext
from corral.extract.value_limit import cut_record, limit_values
from corral.extract.values import storable
from corral.fetch.cache.client import NO_CACHE, CacheRequest, PageCache
from corral.fetch.egress.client import Egress
from corral.fetch.egress.context import FetchContext, FetchRequest
from corral.fetch.faults import fault
from corral.fetch.http import cost_of
from corral.fetch.proxy.route import Proxies
from corral.fetch.response import Response
from corral.fetch.robots import Robots

_JSON = "application/json"
_MAX_TYPE_CHARS = 500
_MAX_RECIPES = 256


@dataclass(frozen=True, slots=True)
class _Replay:
    """One replay: its page, its fetcher and its deadline."""

    page: Target
    context: FetchContext
    respects_robots: bool
    ends_at: float

    def measure_left_s(self) -> float:
        return max(0.0, self.ends_at - time.monotonic())


class ApiReplayExecutor:
    def __init__(
        self, egress: Egress, robots: Robots, *, cache: PageCache = NO_CACHE, proxies: Proxies | None = None
    ) -> None:
        self._cache = cache
        self._proxies = proxies or Proxies(egress)
        self._egress = egress
        self._robots = robots
        self._recipes: dict[tuple[str, int], Recipe] = {}  # parsed once: a few recipes serve thousands of pages

    async def execute(self, task: Task) -> Outcome:
        payload, ends_at = task.payload.read(PagePayload), time.monotonic() + task.timeout_s
        try:
            target = parse_target(payload.url)
            recipe = self._recipe(payload.recipe)
        except BadInput as problem:
            return fault("policy:url", problem.message)
        if recipe is None:
            return fault("policy:no_recipe")
        requests = recipe.requests(target)
        if isinstance(requests, ShapeChange):
            return _shape_fault(requests.what, {})
        context = FetchContext(
            trusted_hosts=payload.trusted,
            visit=task.visit,
            cookies=RunCookies(),
            first_byte_s=payload.timeout_s,
        )
        async with self._proxies.open_route(
            task.proxy,
            context.trusted_hosts,
            verifies_tls=payload.verify_tls,
            first_byte_s=context.first_byte_s,
        ) as route:
            context = replace(context, route=route)
            replay = _Replay(target, context, payload.respect_robots, ends_at)
            outcome = await self._execute(recipe, requests, replay, payload.fields)
            if replay.respects_robots and not isinstance(outcome, Deferred):
                outcome.stats.update(self._robots.notes(target, context))
            return outcome

    def _recipe(self, document: dict[str, Any] | None) -> Recipe | None:
        if document is None:
            return None
        key = (str(document.get("id")), int(document.get("version") or 0))
        recipe = self._recipes.get(key)
        if recipe is None:
            content = {"calls": document.get("calls"), "fields": document.get("fields")}
            recipe = recipe_of(str(document.get("url_pattern")), content)
            if len(self._recipes) >= _MAX_RECIPES:
                self._recipes.clear()
            self._recipes[key] = recipe
        return recipe

    async def _refusal(self, target: Target, replay: _Replay) -> Failed | None:
        if not replay.respects_robots:
            return None
        return await self._robots.refusal(target, replay.context, budget_s=replay.measure_left_s())

    async def _execute(
        self, recipe: Recipe, requests: list[ReplayRequest], replay: _Replay, fields: tuple[FieldSpec, ...]
    ) -> Outcome:
        target = replay.page
        stats: dict[str, Any] = {"title": None, "final_url": target.url, "requests": 0, "cost": 0, "bytes": 0}
        documents = []
        for request in requests:
            answer = await self._call(request, replay)
            if not isinstance(answer, Response):
                return answer
            _count(stats, answer)
            document = _document_of(answer, stats)
            if isinstance(document, Failed):
                return document
            documents.append(document[0])
        values = recipe.read(documents, target)
        if isinstance(values, ShapeChange):
            return _shape_fault(f"{values.field}: {values.what}", stats)
        raw = unflatten(fields, values)
        if raw is None:
            return _shape_fault("the lists of a field's objects differ in length", stats)
        now = datetime.now(UTC)
        with limit_values(self._egress.limits.max_value_chars):
            status = stats["http_status"]
            facts = page_facts(target.url, replay.page.url, status, now)
            context = TypeContext(base_url=target.url, now=now)
            found = fill_from_raw(fields, storable(raw), facts, context)
            record, cut = cut_record(found.record)
        if problems := {**found.problems, **cut}:
            stats["problems"] = problems
        return Fetched(stats, (record,), found.missing, details=(found.details,))

    async def _call(self, request: ReplayRequest, replay: _Replay) -> Response | Failed | Deferred:
        try:
            target = parse_target(request.url, max_chars=8192)
        except BadInput as problem:
            return fault("policy:url", problem.message)
        own = {"accept": _JSON, **request.headers}
        body = orjson.dumps(request.body) if request.method == "POST" else None

        async def check_call(called: Target) -> Failed | None:
            refusal = await self._refusal(called, replay)
            # robots.txt may allow the page itself: the browser makes this call as part of loading it.
            return refusal and Failed(FailureCode.EXTRACTION, refusal.message, "replay_refused")

        async def check() -> Failed | None:
            return await self._refusal(replay.page, replay) or await check_call(target)

        async def fetch_live(headers: Mapping[str, str]) -> Response | Failed | Deferred:
            timeout_s, sent = replay.measure_left_s(), {**own, **headers}
            call = FetchRequest(request.url, timeout_s, sent, body=body, check_redirect=check_call)
            return await self._egress.fetch(call, replay.context)

        if body is not None:
            return await check() or await fetch_live({})
        cookies = replay.context.cookies
        cached = CacheRequest(
            request.url,
            own,
            trusted_hosts=replay.context.trusted_hosts,
            respects_robots=replay.respects_robots,
            has_login=cookies is not None and bool(cookies.header_for(target, time.time())),
            route_name=replay.context.route_name,
        )
        return await self._cache.fetch(cached, fetch_live, check)


def _count(stats: dict[str, Any], answer: Response) -> None:
    stats["http_status"] = answer.status
    stats["content_type"] = (answer.header("content-type") or "").split(";")[0].strip().lower()[:_MAX_TYPE_CHARS]
    stats["content_length"] = stats.get("content_length", 0) + len(answer.body)
    stats["bytes"] += answer.raw_bytes
    stats["requests"] += 1
    stats["cost"] += cost_of(answer)
    if answer.cache is not None:
        stats["cache"] = combine_uses([answer.cache, stats.get("cache", answer.cache)])
    stats["redirects"] = stats.get("redirects", 0) + len(answer.chain)
    before = stats.get("timings", {})
    stats["timings"] = {name: before.get(name, 0) + value for name, value in answer.timings.items()}


def _document_of(answer: Response, stats: dict[str, Any]) -> tuple[Any] | Failed:
    """Return the JSON of an answer, in a tuple because it may be any value, even None."""
    failure = failure_of_status(answer.status, retry_after=answer.header("retry-after"), stats=stats)
    if failure is not None and (failure.code is not FailureCode.BAD_RESPONSE or answer.status >= 500):
        return failure
    if failure is not None:
        # The page itself may be fine: its call may only have moved.
        return _shape_fault(f"the call returned status {answer.status}", stats)
    try:
        return (orjson.loads(answer.body),)
    except orjson.JSONDecodeError:
        return _shape_fault("the answer is not JSON", stats)


def _shape_fault(what: str, stats: dict[str, Any]) -> Failed:
    return fault("extraction:shape_changed", what, **stats)
