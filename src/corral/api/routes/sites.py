"""Knowledge about sites: strategies that work, and recorded recipes."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Cursor, Id, Limit
from corral.api.routing import make_router
from corral.api.schemas.common import Deleted, DomainIntelligence
from corral.domain.errors import BadInput
from corral.domain.hosts.limiter import SitePace, host_key_of
from corral.domain.net.address import EgressPolicy
from corral.domain.net.url import MAX_URL_CHARS, parse_target
from corral.domain.sites.recipe.edit import check_edit
from corral.views.host_limits import SiteLimiterRead, SitePaceChange, limiter_read
from corral.views.sites import RecipeChange, RecipeRead, intelligence, recipe_read
from corral.wiring.options import host_rules

router = make_router("sites")

Url = Annotated[str, Query(max_length=MAX_URL_CHARS)]


@router.get("/jobs/intelligence/domain", response_model=DomainIntelligence)
async def domain_intelligence(corral: Corral, url: Url) -> Response:
    """Per strategy: attempts, success rate, yield and cost, and which one is proven for which set of fields."""
    host = parse_target(url, field="url").host
    return render.answer(intelligence(host, await corral.store.sites.memories(host)))


@router.get("/sites/gates", response_model=list[SiteLimiterRead])
async def gates(corral: Corral) -> Response:
    """List hosts that fail, have an open circuit breaker, or have their own rate; the settings apply to all others."""
    waiting, _ = await corral.store.hosts.count_waiting()
    rules = host_rules(corral.settings).breaker
    hosts = await corral.store.hosts.list_watched()
    return render.answer([limiter_read(host, rules, waiting.get(host.host_key, 0)) for host in hosts])


@router.put("/sites/pace", response_model=SiteLimiterRead)
async def set_pace(corral: Corral, url: Url, body: SitePaceChange) -> Response:
    """Set the pace of the host of this URL; every node applies it within two seconds."""
    host_key = host_key_of(parse_target(url, field="url"))
    await corral.store.hosts.set_pace(host_key, SitePace(body.concurrency, body.delay_s))
    stored = await corral.store.hosts.get(host_key)
    assert stored is not None
    return render.answer(limiter_read(stored, host_rules(corral.settings).breaker))


@router.get("/jobs/recipes", response_model=list[RecipeRead])
async def list_recipes(
    corral: Corral,
    url: Annotated[
        str | None, Query(max_length=MAX_URL_CHARS, description="only recipes of the host of this URL")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    host = None if url is None else parse_target(url, field="url").host
    found = await corral.store.recipes.newest(host, render.cursor_id(cursor), limit)
    return render.page([recipe_read(each) for each in found], found[-1].id if found else None, limit)


@router.get("/jobs/recipes/{recipe_id}", response_model=RecipeRead)
async def read_recipe(recipe_id: Id, corral: Corral) -> Response:
    return render.answer(recipe_read(await corral.store.recipes.get(str(recipe_id))))


@router.put("/jobs/recipes/{recipe_id}", response_model=RecipeRead)
async def change_recipe(recipe_id: Id, body: RecipeChange, corral: Corral) -> Response:
    """Edit the request and the field paths of a recipe, or pin it, so that no run overwrites it."""
    if body.document is None and body.pinned is None:
        raise BadInput("the request changes nothing", field="document", hint="send a document, pinned, or both")
    stored = await corral.store.recipes.get(str(recipe_id))
    policy = EgressPolicy(corral.settings.egress_allow)
    document = None if body.document is None else check_edit(stored, body.document, policy)
    # An edited recipe is pinned, so that no browser run replaces it.
    pinned = True if body.pinned is None else body.pinned
    return render.answer(recipe_read(await corral.store.recipes.change(stored.id, document, pinned=pinned)))


@router.delete("/jobs/recipes/{recipe_id}", response_model=Deleted)
async def delete_recipe(recipe_id: Id, corral: Corral) -> Response:
    await corral.store.recipes.delete(str(recipe_id))
    return render.answer({"message": f"recipe {recipe_id} is deleted; the next browser run may record it again"})
