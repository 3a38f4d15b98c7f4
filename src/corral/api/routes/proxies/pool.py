"""The proxy pool: list, import, check, refresh, delete; and the echo page that proxy checks request."""

import time
from typing import Annotated

import orjson
from fastapi import Path, Query, Request
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Cursor, Id, Limit
from corral.api.routing import make_router
from corral.api.schemas.proxies import (
    CheckBody,
    CheckStarted,
    DeletedRead,
    PoolRead,
    ProxyImportBody,
    ProxyImportRead,
    ProxyRead,
    RefreshRead,
    SiteTiersRead,
)
from corral.domain.errors import BadInput
from corral.domain.net.address import EgressPolicy, check_literal
from corral.domain.net.pool_policy import Tier
from corral.domain.net.url import parse_target
from corral.domain.proxies.echo import build_echo_page
from corral.domain.proxies.pooled import ProxyState
from corral.views.proxies import pool_view, progress_view, proxy_view, site_key, tiers_view

router = make_router("proxies")

ProxyId = Annotated[int, Path(ge=1, le=2**62)]
# Secrets of the caller, which the echo page must not repeat.
_NOT_ECHOED = frozenset({"authorization", "cookie", "proxy-authorization"})


@router.get("/proxies", response_model=list[ProxyRead])
async def list_proxies(
    corral: Corral,
    state: Annotated[ProxyState | None, Query()] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    found = await corral.store.proxies.page(state, render.cursor_number(cursor), limit)
    return render.page([proxy_view(each) for each in found], str(found[-1].id) if found else None, limit)


@router.get("/proxies/stats", response_model=PoolRead)
async def count_proxies(corral: Corral) -> Response:
    counts = await corral.store.proxies.count()
    return render.answer(pool_view(counts, corral.settings.min_proxies_for_scraping))


@router.get("/proxies/tiers", response_model=list[SiteTiersRead])
async def list_tiers(
    corral: Corral, site: Annotated[str | None, Query(max_length=300)] = None, limit: Limit = 50
) -> Response:
    """Return the results of the tiers at one site, or at the sites used last."""
    found = await corral.store.proxies.tiers(None if site is None else site_key(site), limit)
    now = time.time()
    return render.answer([tiers_view(name, records, now) for name, records in found.items()])


@router.get("/proxies/echo", include_in_schema=False)
async def echo(request: Request, nonce: Annotated[str, Query(pattern="^[0-9a-f]{0,64}$")] = "") -> Response:
    """Return the address and headers of the caller; proxy checks compare the page byte by byte."""
    headers = {name: value for name, value in request.headers.items() if name not in _NOT_ECHOED}
    address = "" if request.client is None else request.client.host
    return Response(build_echo_page(address, headers, nonce), media_type="text/html")


@router.post("/proxies/import", response_model=ProxyImportRead)
async def import_proxies(body: ProxyImportBody, corral: Corral) -> Response:
    """Add proxies to the pool. They are used after a check: start one with POST /proxies/check or a refresh."""
    if (body.text is None) == (body.proxies is None):
        raise BadInput("send either text or proxies", field="text")
    text = orjson.dumps(body.proxies).decode() if body.text is None else body.text.get_secret_value()
    report = await corral.proxies.add(text, body.source, scheme=body.scheme, tier=Tier(body.tier))
    return render.answer(report.document())


@router.post("/proxies/refresh", response_model=RefreshRead)
async def refresh_proxies(corral: Corral) -> Response:
    """Read the configured sources and check every proxy; return the refresh in progress if there is one."""
    progress, _ = await corral.proxies.refresh()
    return render.answer(progress_view(progress))


@router.get("/proxies/refreshes", response_model=list[RefreshRead])
async def list_refreshes(corral: Corral, limit: Limit = 20) -> Response:
    return render.answer([progress_view(each) for each in await corral.store.proxies.newest_refreshes(limit)])


@router.get("/proxies/refreshes/{job_id}", response_model=RefreshRead)
async def read_refresh(job_id: Id, corral: Corral) -> Response:
    return render.answer(progress_view(await corral.store.proxies.progress(str(job_id))))


@router.post("/proxies/check", response_model=CheckStarted)
async def check_proxies(body: CheckBody, corral: Corral) -> Response:
    if body.target is not None:
        check_literal(
            parse_target(body.target, field="target"), EgressPolicy(corral.settings.egress_allow), field="target"
        )
    ids = await corral.store.proxies.ids() if body.ids is None else body.ids
    runs = await corral.proxies.check(ids, target=body.target)
    return render.answer({"runs": [run.id for run in runs]})


@router.get("/proxies/{proxy_id}", response_model=ProxyRead)
async def read_proxy(proxy_id: ProxyId, corral: Corral) -> Response:
    return render.answer(proxy_view(await corral.store.proxies.get(proxy_id)))


@router.delete("/proxies/{proxy_id}", response_model=DeletedRead)
async def delete_proxy(proxy_id: ProxyId, corral: Corral) -> Response:
    await corral.store.proxies.delete(proxy_id)
    return render.answer({"deleted": 1})


@router.delete("/proxies", response_model=DeletedRead)
async def delete_proxies(corral: Corral, state: Annotated[ProxyState, Query()]) -> Response:
    """Delete every proxy in one state, such as `dead`."""
    return render.answer({"deleted": await corral.store.proxies.delete_in_state(state)})
