"""Details of one crawl: counts, pages by state, reasons, and the history of a URL."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Id, Limit
from corral.api.routing import make_router
from corral.api.schemas.crawls import CrawlRead, KeepRead, KeepRequest, ListedPage, ReasonRead, WhyRead, crawl_read
from corral.api.schemas.scraping import plan_of
from corral.domain.crawl.crawl import ItemState
from corral.domain.crawl.item import short_key
from corral.domain.errors import PageNotSeen, RunNotFound
from corral.domain.net.canonical import url_key
from corral.domain.net.url import MAX_URL_CHARS, parse_target
from corral.domain.runs.run import CRAWL, Run, RunState
from corral.views.crawl_pages import explain_state, page_shape

router = make_router("crawls", prefix="/scraping/tasks/{task_id}")


async def _task(corral: Corral, task_id: Id) -> Run:
    run = await corral.store.runs.get(str(task_id))
    if run.kind != CRAWL:
        raise RunNotFound(str(task_id))
    return run


@router.get("", response_model=CrawlRead)
async def read_crawl(corral: Corral, task_id: Id) -> Response:
    run = await _task(corral, task_id)
    now = await corral.store.crawls.get(run.id)
    hours = corral.settings.crawl_retention_hours
    is_idle = run.state is RunState.RUNNING and now.counts.pending and not now.counts.leased
    waits = await corral.store.crawls.wait_reason(run.id) if is_idle else None
    is_pinned = await corral.store.runs.is_pinned(run.id)
    return render.answer(crawl_read(run, now, is_pinned=is_pinned, keep_hours=hours, waits=waits))


@router.get("/reasons", response_model=list[ReasonRead])
async def reasons(corral: Corral, task_id: Id) -> Response:
    """Count the pages by state and reason. This takes a while for a large crawl."""
    run = await _task(corral, task_id)
    found = await corral.store.crawls.count_reasons(run.id)
    rows = [{"state": state, "reason": reason, "count": count} for state, reason, count in found]
    return render.answer(sorted(rows, key=lambda each: -int(str(each["count"]))))


@router.get("/pages", response_model=list[ListedPage])
async def pages(
    corral: Corral,
    task_id: Id,
    state: Annotated[ItemState, Query()] = ItemState.FAILED,
    limit: Limit = 50,
    after: Annotated[int, Query(ge=0, le=2**63 - 1, description="the id of the last page of the previous answer")] = 0,
) -> Response:
    """List the pages in one state, in the order in which they were found."""
    run = await _task(corral, task_id)
    found = await corral.store.crawls.items(run.id, state, after, limit)
    return render.answer([{"id": each.id, **page_shape(each)} for each in found])


@router.get("/why", response_model=WhyRead)
async def why(corral: Corral, task_id: Id, url: Annotated[str, Query(max_length=MAX_URL_CHARS)]) -> Response:
    """Explain the state of a URL, and by which links it was found."""
    run = await _task(corral, task_id)
    counting_params = plan_of(run).counting_params
    path = await corral.store.crawls.path_to(
        run.id, short_key(url_key(parse_target(url, field="url"), counting_params))
    )
    if not path:
        raise PageNotSeen(url)
    reason = explain_state(run, await corral.store.crawls.get(run.id), path[0])
    first, *rest = (page_shape(each) for each in path)
    return render.answer({"task_id": run.id, "page": first, "because": reason, "way": rest})


@router.post("/keep", response_model=KeepRead)
async def keep(corral: Corral, task_id: Id, body: KeepRequest | None = None) -> Response:
    """Exempt a task and its records from deletion by age, or end the exemption."""
    run = await _task(corral, task_id)
    is_pinned = body is None or body.keep
    await corral.store.runs.keep(run.id, keep=is_pinned)
    return render.answer({"task_id": run.id, "keep": is_pinned})
