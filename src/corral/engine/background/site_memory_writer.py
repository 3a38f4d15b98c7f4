"""Collect observations of attempts about their sites and write them once a second, as statistics."""

import asyncio

import structlog

from corral.domain.errors import BadInput, StorageError
from corral.domain.jobs.job import Strategy
from corral.domain.net.url import parse_target
from corral.domain.ports.stores import EngineStore
from corral.domain.runs.completeness.script_content import lacks_scripts
from corral.domain.runs.outcome import AttemptOutcome, Failed, FailureCode
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.retry import NEEDS_LOGIN
from corral.domain.runs.run import PAGE, Run
from corral.domain.sites.site import Observation, fields_key

log = structlog.get_logger()

_EVERY_S = 1.0
_MAX_PENDING = 10_000
# Failures that do not show whether the strategy works on this site.
_SAYS_NOTHING = frozenset({FailureCode.POLICY, FailureCode.UNKNOWN, FailureCode.WORKER_LOST, FailureCode.CANCELLED})
# One bad answer is enough to doubt a recipe; a host that does not answer proves nothing.
_NO_ANSWER = frozenset({FailureCode.NETWORK, FailureCode.TIMEOUT})

# Failures that prove that the calls of a recipe no longer work.
_DISPROVES = frozenset({FailureCode.BLOCKED, FailureCode.BAD_RESPONSE, FailureCode.EXTRACTION, FailureCode.LIMIT})


def observe(run: Run, outcome: AttemptOutcome, took_s: float) -> Observation | None:
    """Return the observation of this attempt about its site, or None."""
    if run.kind != PAGE or (isinstance(outcome, Failed) and outcome.code in _SAYS_NOTHING):
        return None
    if run.resolved_strategy is Strategy.AUTO:
        return None
    if isinstance(outcome, Failed) and outcome.code in _NO_ANSWER and "proxy" in outcome.stats:
        return None  # the proxy may be the cause
    if isinstance(outcome, Failed) and outcome.detail in NEEDS_LOGIN:
        return None  # the cause is the login, not the site
    is_replay = run.resolved_strategy is Strategy.API_REPLAY
    if is_replay and isinstance(outcome, Failed) and outcome.code in _NO_ANSWER:
        return None
    payload = run.payload.read(PagePayload)
    try:
        host = parse_target(payload.url).host
    except BadInput:
        return None
    names = payload.field_names
    missing = len(names) if isinstance(outcome, Failed) else len(outcome.missing)
    return Observation(
        host=host,
        fields_key=fields_key(names),
        strategy=run.resolved_strategy,
        succeeded=missing == 0 and not isinstance(outcome, Failed) and not lacks_scripts(outcome),
        requested=len(names),
        found=len(names) - missing,
        cost_ms=round(took_s * 1000),
    )


def find_failed_recipe(run: Run, outcome: AttemptOutcome) -> tuple[str, int] | None:
    """Return the id and version of the recipe that this attempt disproved, or None.

    A failing or unreachable host disproves no recipe; site memory records it instead.
    """
    if run.resolved_strategy is not Strategy.API_REPLAY:
        return None
    recipe = run.payload.read(PagePayload).recipe
    if recipe is None:
        return None
    if isinstance(outcome, Failed):
        is_answer = outcome.code in _DISPROVES and (outcome.http_status or 0) < 500
    else:
        is_answer = bool(outcome.missing)
    return (str(recipe.get("id")), int(recipe.get("version") or 0)) if is_answer else None


class SiteMemoryWriter:
    def __init__(self, store: EngineStore) -> None:
        self._store = store
        self._observations: list[Observation] = []
        self._failed_recipes: set[tuple[str, int]] = set()

    def note(self, run: Run, outcome: AttemptOutcome, took_s: float) -> None:
        if (failed := find_failed_recipe(run, outcome)) is not None and len(self._failed_recipes) < _MAX_PENDING:
            self._failed_recipes.add(failed)
        observation = observe(run, outcome, took_s)
        if observation is not None and len(self._observations) < _MAX_PENDING:
            self._observations.append(observation)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            await self.flush()

    async def flush(self) -> None:
        observations, self._observations = self._observations, []
        failed, self._failed_recipes = self._failed_recipes, set()
        if not observations and not failed:
            return
        try:
            for recipe_id, version in failed:
                await self._store.recipes.mark_failed(recipe_id, version)
            await self._store.sites.learn(observations)
        except StorageError as error:
            log.warning("site_memory_write_failed", observations=len(observations), reason=error.message)
