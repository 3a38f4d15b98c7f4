"""What is known about sites."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral
from corral.api.schemas import DomainIntelligence
from corral.domain.job import Strategy
from corral.domain.site import Memory, proven
from corral.domain.url import parse_target

router = APIRouter(tags=["sites"])


@router.get("/jobs/intelligence/domain", response_model=DomainIntelligence)
async def domain_intelligence(corral: Corral, url: Annotated[str, Query(max_length=8192)]) -> Response:
    """Per strategy: attempts, success rate, yield and cost, and which one is proven for which set of fields."""
    host = parse_target(url, field="url").host
    memories = await corral.store.site(host)
    strategies = {strategy.value: _summed(memories, strategy) for strategy in Strategy if strategy is not Strategy.AUTO}
    return render.answer({"domain": host, "strategies": strategies, "proven": _proven(memories)})


def _summed(memories: list[Memory], strategy: Strategy) -> dict[str, Any]:
    of_it = [memory for memory in memories if memory.strategy is strategy]
    weight = sum(memory.weight for memory in of_it)
    asked = sum(memory.asked for memory in of_it)
    return {
        "attempts": sum(memory.attempts for memory in of_it),
        "success_rate": round(sum(memory.successes for memory in of_it) / weight, 4) if weight else None,
        "yield": round(sum(memory.found for memory in of_it) / asked, 4) if asked else None,
        "cost_ms": round(sum(memory.cost_ms for memory in of_it) / weight, 1) if weight else None,
    }


def _proven(memories: list[Memory]) -> dict[str, str]:
    keys = sorted({memory.fields_key for memory in memories})
    found = {key: proven([memory for memory in memories if memory.fields_key == key]) for key in keys}
    return {key: memory.strategy.value for key, memory in found.items() if memory is not None}
