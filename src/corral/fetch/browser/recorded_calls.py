"""The JSON calls that filled a page, and the recipe they make: what the browser teaches to those that come after."""

import asyncio
from dataclasses import replace
from typing import Any

import orjson
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Response

from corral.domain.errors import BadInput
from corral.domain.net.url import Target, parse_target
from corral.domain.runs.outcome import Failed, Fetched, Outcome, Task
from corral.domain.runs.payload.page import PagePayload
from corral.domain.sites.recipe.recipe import METHODS, Recipe
from corral.domain.sites.recipe.search import Call, derive
from corral.fetch.egress.context import FetchContext
from corral.fetch.limits import MIB
from corral.fetch.robots import Robots

_MAX_CALLS = 50
_MAX_BYTES = 2 * MIB
_MAX_TOTAL_BYTES = 8 * MIB
# The page has been read by now; what was not whole then did not fill it.
_READ_WITHIN_S = 1.0
_TEACH_WITHIN_S = 3.0
_TEACH_SHARE = 0.8
_SCRIPTED = frozenset({"xhr", "fetch"})
_MAX_REFUSED = 3


class CallLog:
    """What a page has fetched for itself since it was loaded."""

    def __init__(self) -> None:
        self._answers: list[Response] = []

    def see(self, answer: Response) -> None:
        if len(self._answers) < _MAX_CALLS and _is_of_interest(answer):
            self._answers.append(answer)

    def forget(self) -> None:
        self._answers.clear()

    async def read(self) -> list[Call]:
        """The calls whose answers are whole and small enough, in the order they were answered."""
        answers, self._answers = self._answers, []
        if not answers:
            return []
        reading = [asyncio.ensure_future(answer.body()) for answer in answers]
        await asyncio.wait(reading, timeout=_READ_WITHIN_S)
        for unread in reading:
            unread.cancel()
        bodies = await asyncio.gather(*reading, return_exceptions=True)
        calls, room = [], _MAX_TOTAL_BYTES
        for answer, body in zip(answers, bodies, strict=True):
            if not isinstance(body, bytes) or len(body) > min(_MAX_BYTES, room):
                continue
            room -= len(body)
            call = _call_of(answer, body)
            if call is not None:
                calls.append(call)
        return calls


async def add_recipe(
    log: CallLog, outcome: Outcome, task: Task, robots: Robots, context: FetchContext, *, left_s: float
) -> Outcome:
    """The outcome, with a recipe where the page's own calls hold what was found on it.

    Not for a run that was logged in: what it was shown is not what others get. Nor for one that took any certificate:
    others would call what nobody vouches for.
    """
    if isinstance(outcome, Failed) or not task.payload.read(PagePayload).is_shareable or not outcome.records:
        return outcome
    try:
        async with asyncio.timeout(min(_TEACH_WITHIN_S, left_s * _TEACH_SHARE)):
            recipe = await _derive_recipe(log, outcome.records[0], task, robots, context)
    except TimeoutError:
        return outcome  # what was found is not given up for what might be learnt
    return outcome if recipe is None else _with(outcome, recipe)


async def _derive_recipe(
    log: CallLog, record: dict[str, Any], task: Task, robots: Robots, context: FetchContext
) -> Recipe | None:
    target = parse_target(task.payload.read(PagePayload).url)
    calls = await log.read()
    for _ in range(_MAX_REFUSED if calls else 0):
        recipe = await asyncio.to_thread(derive, target.url, calls, record)
        refused = await _find_disallowed(recipe, task, target, robots, context) if recipe else set()
        if not refused:
            return recipe
        calls = [call for call in calls if call.url not in refused]
    return None


def _with(outcome: Fetched, recipe: Recipe) -> Fetched:
    return replace(outcome, recipe={"url_pattern": recipe.url_pattern, **recipe.document()})


async def _find_disallowed(
    recipe: Recipe, task: Task, target: Target, robots: Robots, context: FetchContext
) -> set[str]:
    """Return the calls that robots.txt disallows, although the page may make them."""
    requests = recipe.requests(target)
    if not task.payload.read(PagePayload).respect_robots or not isinstance(requests, list):
        return set()
    refused = set()
    for request in requests:
        called = parse_target(request.url, max_chars=len(request.url))
        if await robots.refusal(called, context) is not None:
            refused.add(request.url)
    return refused


def _is_of_interest(answer: Response) -> bool:
    try:
        request = answer.request
        length = answer.headers.get("content-length", "0")
        return (
            request.resource_type in _SCRIPTED
            and request.method in METHODS
            and 200 <= answer.status < 300
            and "json" in answer.headers.get("content-type", "").lower()
            and not (length.isdigit() and int(length[:16]) > _MAX_BYTES)
        )
    except PlaywrightError:
        return False


def _call_of(answer: Response, body: bytes) -> Call | None:
    request = answer.request
    try:
        sent = request.post_data_buffer
        asked = orjson.loads(sent) if request.method == "POST" and sent else None
        # As parsed by us: a call is told apart by its address, and there is more than one way to write one.
        url = parse_target(request.url, max_chars=8192).request_url
        return Call(request.method, url, dict(request.headers), orjson.loads(body), asked)
    except (orjson.JSONDecodeError, PlaywrightError, BadInput):
        return None
