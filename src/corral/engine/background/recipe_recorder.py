"""Save recipes from browser runs, so that later runs can fetch the same pages without a browser."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import structlog

from corral.domain.errors import CorralError
from corral.domain.net.url import parse_target
from corral.domain.ports.stores import RecipeStore
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.payload.page import PagePayload
from corral.domain.runs.run import Run
from corral.domain.runs.settlement import Settlement
from corral.domain.sites.recipe.recipe import RecordedRecipe, StoredRecipe, recipe_key, recipe_of
from corral.domain.sites.site import fields_key

log = structlog.get_logger()


class RecipeRecorder:
    def __init__(self, store: RecipeStore, before: Callable[[], Awaitable[None]]) -> None:
        """`before` flushes the site memory: a new recipe must not inherit the failures of the old one."""
        self._store = store
        self._before = before

    async def keep(self, settlements: Sequence[Settlement]) -> list[Settlement]:
        """Return the settlements, with an added event for each one that produced a new recipe."""
        return [settlement if settlement.recipe is None else await self._keep(settlement) for settlement in settlements]

    async def _keep(self, settlement: Settlement) -> Settlement:
        try:
            recorded = _make_recipe(settlement.lease.run, settlement.recipe or {})
            await self._before()
            saved = await self._store.save(recorded)
        except CorralError as error:
            # The run keeps its records; the next browser run records the recipe again.
            log.warning("recipe_write_failed", run=settlement.lease.run_id, reason=error.message)
            return settlement
        if saved is None:
            return settlement
        transition = settlement.transition
        return settlement._replace(transition=replace(transition, events=(_event(saved), *transition.events)))


def _make_recipe(run: Run, recording: dict[str, Any]) -> RecordedRecipe:
    document = {"calls": recording.get("calls"), "fields": recording.get("fields")}
    recipe = recipe_of(str(recording.get("url_pattern")), document)
    payload = run.payload.read(PagePayload)
    host, key = parse_target(payload.url).host, fields_key(payload.field_names)
    return RecordedRecipe(host, recipe_key(payload.fields), recipe.url_pattern, recipe.document(), key)


def _event(saved: StoredRecipe) -> EventDraft:
    calls = [f"{call['method']} {call['url']}" for call in saved.document["calls"]]
    meta = {"recipe_id": saved.id, "version": saved.version, "url_pattern": saved.url_pattern, "calls": calls}
    return EventDraft(EventKind.RECIPE_RECORDED, meta)
