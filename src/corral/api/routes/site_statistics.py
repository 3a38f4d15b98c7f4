"""Crawl statistics by site: pages, failures by kind, bytes, time."""

from typing import Annotated

from fastapi import Path
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Limit
from corral.api.routing import make_router
from corral.domain.errors import SiteNotFound
from corral.domain.net.url import parse_target
from corral.views.site_statistics import SiteStatisticsRead, site_statistics_read

router = make_router("sites")

Host = Annotated[str, Path(max_length=255)]


@router.get("/sites/statistics", response_model=list[SiteStatisticsRead])
async def list_statistics(corral: Corral, limit: Limit = 50) -> Response:
    """List the statistics of crawled hosts, the latest first."""
    return render.answer([site_statistics_read(each) for each in await corral.store.sites.latest_statistics(limit)])


@router.get("/sites/{host}/statistics", response_model=SiteStatisticsRead)
async def read_statistics(host: Host, corral: Corral) -> Response:
    name = parse_target(f"http://{host}", field="host").host
    found = await corral.store.sites.statistics(name)
    if found is None:
        raise SiteNotFound(name)
    return render.answer(site_statistics_read(found))
