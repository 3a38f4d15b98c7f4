"""The cost of runs, jobs and sites."""

from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Id
from corral.api.routing import make_router
from corral.domain.errors import SiteNotFound
from corral.domain.net.url import parse_target

router = make_router("cost")


class CostRead(BaseModel):
    model_config = ConfigDict(extra="allow")

    requests: int
    bytes: int
    seconds: float
    browser_seconds: float
    cpu_seconds: float
    proxy_cost: float = Field(description="part of `cost`: proxies of the pool, at the price when they were used")
    cost: float
    records: int
    per_record: dict[str, float] | None


@router.get("/jobs/runs/{run_id}/cost", response_model=CostRead)
async def read_run_cost(run_id: Id, corral: Corral) -> Response:
    """Return the resources that all attempts of a run used, with their cost in total and per record."""
    return render.answer(await corral.sites.costs.of_run(str(run_id)))


@router.get("/jobs/{job_id}/cost", response_model=CostRead)
async def read_job_cost(job_id: Id, corral: Corral) -> Response:
    """Return the sum over the stored runs of the job."""
    return render.answer(await corral.sites.costs.of_job(str(job_id)))


@router.get("/sites/{site}/cost", response_model=CostRead)
async def read_site_cost(site: Annotated[str, Path(max_length=255)], corral: Corral) -> Response:
    """Return the cost of the pages that crawls fetched from a host."""
    host = parse_target(f"http://{site}", field="site").host
    found = await corral.store.sites.statistics(host)
    if found is None:
        raise SiteNotFound(host)
    return render.answer(corral.sites.costs.of_site(found))
