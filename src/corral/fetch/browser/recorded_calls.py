"""Record the JSON calls of a page and derive a recipe from them, for later runs without a browser."""

import asyncio
from dataclasses import replace

import orjson
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Response

from corral.domain.errors import BadInput
from corral.domain.fields.own_code import parser_of
from corral.domain.fields.spec import flatten
from corral.domain.net.url import Target, parse_target
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import AttemptOutcome, Failed, Fetched
from corral.domain.runs.payload.page import PagePayload
from corral.domain.sites.recipe.recipe import METHODS, Recipe
from corral.domain.sites.recipe.search import Call, derive
from corral.fetch.egress.context import FetchContext
from corral.fetch.limits import MIB
from corral.fetch.robots import Robots

_MAX_CALLS = 50
_MAX_BYTES = 2 * MIB
_MAX_TOTAL_BYTES = 8 * MIB
# The page has been read already, so an answer that is still incomplete did not contribute to it.
_READ_WITHIN_S = 1.0
_DERIVE_WITHIN_S = 3.0
_DERIVE_SHARE = 0.8
_SCRIPTED = frozenset({"xhr", "fetch"})
_MAX_REFUSED = 3


class CallLog:
    """The JSON answers that a page has loaded."""

    def __init__(self) -> None:
        self._answers: list[Response] = []

    def add(self, answer: Response) -> None:
        if len(self._answers) < _MAX_CALLS and _is_of_interest(answer):
            self._answers.append(answer)

    def forget(self) -> None:
        self._answers.clear()

    async def read(self) -> list[Call]:
        """Return the calls with complete and small answers, in the order of the answers."""
        answers, self._answers = self._answers, []
        if not answers:
            return []
        reading = [asyncio.ensure_future(answer.body()) for answer in answers]
        await asyncio.wait(reading, timeout=_READ_WITHIN_S)
        for unread in reading:
            unread.cancel()
        bodies = await asyncio.gather(*reading, return_exceptions=True)
        calls, bytes_left = [], _MAX_TOTAL_BYTES
        for answer, body in zip(answers, bodies, strict=True):
            if not isinstance(body, bytes) or len(body) > min(_MAX_BYTES, bytes_left):
                continue
            bytes_left -= len(body)
            call = _call_of(answer, body)
            if call is not None:
                calls.append(call)
        return calls


async def add_recipe(
    log: CallLog, outcome: AttemptOutcome, task: Task, robots: Robots, context: FetchContext, *, left_s: float
) -> AttemptOutcome:
    """Add a recipe to the outcome if the page's calls contain its fields.

    Skipped for a run with a login, whose answers are personal, and for one that accepted any certificate: later runs
    would trust the recorded calls.
    """
    payload = task.payload.read(PagePayload)
    if isinstance(outcome, Failed) or not payload.is_shareable or not outcome.records:
        return outcome
    if parser_of(payload.fields) is not None:
        return outcome  # the records depend on the page, which a replay does not have
    try:
        async with asyncio.timeout(min(_DERIVE_WITHIN_S, left_s * _DERIVE_SHARE)):
            recipe = await _derive_recipe(log, outcome, task, robots, context)
    except TimeoutError:
        return outcome  # the record matters more than a recipe
    return outcome if recipe is None else _add_recipe_document(outcome, recipe)


async def _derive_recipe(
    log: CallLog, outcome: Fetched, task: Task, robots: Robots, context: FetchContext
) -> Recipe | None:
    payload = task.payload.read(PagePayload)
    record = outcome.records[0] if outcome.raw is None else flatten(payload.fields, outcome.raw)
    if record is None:
        return None
    target = parse_target(payload.url)
    calls = await log.read()
    for _ in range(_MAX_REFUSED if calls else 0):
        recipe = await asyncio.to_thread(derive, target.url, calls, record)
        refused = await _find_disallowed(recipe, task, target, robots, context) if recipe else set()
        if not refused:
            return recipe
        calls = [call for call in calls if call.url not in refused]
    return None


def _add_recipe_document(outcome: Fetched, recipe: Recipe) -> Fetched:
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
        request_body = orjson.loads(sent) if request.method == "POST" and sent else None
        # Normalized by our parser: calls are identified by URL, which can be written in several ways.
        url = parse_target(request.url, max_chars=8192).request_url
        return Call(request.method, url, dict(request.headers), orjson.loads(body), request_body)
    except (orjson.JSONDecodeError, PlaywrightError, BadInput):
        return None
