"""JSON shapes of the knowledge about sites, for the API and the command line."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool

from corral.domain.jobs.job import Strategy
from corral.domain.sites.recipe.recipe import StoredRecipe
from corral.domain.sites.site import KnownSite, Memory, proven


class RecipeRead(BaseModel):
    id: str
    host: str
    url_pattern: str = Field(description="the pages it applies to; * matches one segment or value")
    fields_key: str
    document: dict[str, Any] = Field(description="`calls` to make, and for each field its response and the path in it")
    pinned: bool = Field(description="no run overwrites it")
    version: int
    failed: bool  # not used again until its shape changes
    created_at: datetime
    updated_at: datetime


class RecipeChange(BaseModel):
    """Omitted fields keep their value. An edited document is pinned unless `pinned` is false."""

    model_config = ConfigDict(extra="forbid")

    document: dict[str, Any] | None = Field(None, max_length=100)
    pinned: StrictBool | None = None


def recipe_read(stored: StoredRecipe) -> dict[str, Any]:
    return {
        "id": stored.id,
        "host": stored.host,
        "url_pattern": stored.url_pattern,
        "fields_key": stored.fields_key,
        "document": stored.document,
        "pinned": stored.pinned,
        "version": stored.version,
        "failed": not stored.is_offered,
        "created_at": stored.created_at,
        "updated_at": stored.updated_at,
    }


def to_known_site_read(site: KnownSite) -> dict[str, Any]:
    return {"host": site.host, "attempts": site.attempts, "recipes": site.recipes, "seen_at": site.seen_at}


def intelligence(host: str, memories: Sequence[Memory]) -> dict[str, Any]:
    strategies = {
        strategy.value: _summarize(memories, strategy) for strategy in Strategy if strategy is not Strategy.AUTO
    }
    return {"domain": host, "strategies": strategies, "proven": _proven(memories)}


def evidence(memory: Memory) -> dict[str, Any]:
    """Return the evidence for one strategy and one set of fields."""
    return {"fields_key": memory.fields_key, "strategy": memory.strategy.value, **_summarize([memory], memory.strategy)}


def _summarize(memories: Sequence[Memory], strategy: Strategy) -> dict[str, Any]:
    matching = [memory for memory in memories if memory.strategy is strategy]
    weight = sum(memory.weight for memory in matching)
    requested = sum(memory.requested for memory in matching)
    return {
        "attempts": sum(memory.attempts for memory in matching),
        "success_rate": round(sum(memory.successes for memory in matching) / weight, 4) if weight else None,
        "yield": round(sum(memory.found for memory in matching) / requested, 4) if requested else None,
        "cost_ms": round(sum(memory.cost_ms for memory in matching) / weight, 1) if weight else None,
    }


def _proven(memories: Sequence[Memory]) -> dict[str, str]:
    keys = sorted({memory.fields_key for memory in memories})
    found = {key: proven([memory for memory in memories if memory.fields_key == key]) for key in keys}
    return {key: memory.strategy.value for key, memory in found.items() if memory is not None}
