"""Crawls as tasks: submit, watch, read results while they run, cancel."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response, StreamingResponse

from corral.api import render
from corral.api.deps import Corral, Id, Key, Limit, replay_header
from corral.api.own_code import refuse_own_code
from corral.api.routing import make_router
from corral.api.schemas.scraping import (
    AsyncScrapeRequest,
    ScrapingStatus,
    Submitted,
    TaskMessage,
    TaskProgress,
    TaskResults,
    TaskStatus,
    crawl_of,
    plan_of,
    progress_read,
    status_of,
    summary_read,
)
from corral.domain.crawl.crawl import CANONICAL, ItemState
from corral.domain.crawl.health import crawl_health
from corral.domain.crawl.item import PAGE, StoredItem
from corral.domain.crawl.payload import CrawlAccess, CrawlPayload, seeds_of
from corral.domain.errors import BadInput
from corral.domain.redaction import redact, redact_result_url
from corral.domain.runs.outcome import FailureCode
from corral.domain.runs.run import Run, RunAction, RunState
from corral.views.host_limits import breakers_read

router = make_router("crawls", prefix="/scraping")

_MAX_ERRORS = 1_000
_MAX_STARTS = 100
_CAPABILITIES = ["async_scraping", "multi_depth", "partial_results", "retries", "progress", "cancellation"]
_STATES = {"pending": (RunState.QUEUED, RunState.HELD)}


@router.post("/async-scrape", response_model=Submitted)
async def submit(corral: Corral, key: Key, body: AsyncScrapeRequest) -> Response:
    refuse_own_code(corral.settings, body.parse, body.page_fields)
    plan = body.plan()
    about: dict[str, object] = {"export_format": body.export_format}
    access = await _access(corral, body)
    run, replayed = await corral.crawls.start(plan, about=about, key=key, keep=body.keep, access=access)
    answer = {
        "task_id": run.id,
        # The state on acceptance; a node may have claimed the run since.
        "status": status_of(run.state.value) if replayed else "pending",
        "message": f"crawl of {body.url[:200]} accepted; see /scraping/tasks/{run.id}/status",
        # About a second per page if nothing is known about the site.
        "estimated_duration_minutes": round(
            min(body.timeout_minutes, max(1.0, plan.max_pages / plan.concurrency / 60)), 1
        ),
    }
    return render.answer(answer, headers=replay_header(replayed))


async def _access(corral: Corral, body: AsyncScrapeRequest) -> CrawlAccess:
    draft, proxy = body.draft(), body.proxy_policy
    login = None
    if draft is not None and body.session_id is not None:
        raise BadInput("session_id and headers or cookies are two logins", field="session_id", hint="give one of them")
    if draft is not None:
        login = corral.sessions.seal_for_crawl(body.url, draft)
    elif body.session_id is not None:
        login = await corral.store.sessions.get_sealed(body.session_id)
    policy = corral.jobs.proxy_policy(None if proxy is None else proxy.get_secret_value())
    return CrawlAccess(login, policy, body.verify_tls, quality=body.quality.thresholds())


async def _task(corral: Corral, task_id: Id) -> Run:
    return crawl_of(await corral.store.runs.get(str(task_id)))


@router.get("/tasks/{task_id}/status", response_model=TaskProgress)
async def status(corral: Corral, task_id: Id) -> Response:
    run = await _task(corral, task_id)
    return render.answer(progress_read(run, await corral.store.crawls.get(run.id)))


@router.get("/tasks", response_model=list[TaskProgress])
async def tasks(
    corral: Corral,
    status_filter: Annotated[TaskStatus | None, Query()] = None,
    limit: Limit = 50,
) -> Response:
    states = None if status_filter is None else _STATES.get(status_filter) or (RunState(status_filter),)
    found = await corral.store.crawls.newest(states, limit)
    return render.answer([progress_read(run, now) for run, now in found])


@router.delete("/tasks/{task_id}", response_model=TaskMessage)
async def cancel(corral: Corral, task_id: Id) -> Response:
    run = await _task(corral, task_id)
    await corral.submitter.apply_action(run.id, RunAction.CANCEL)
    return render.answer({"message": f"task {run.id} was cancelled; its results stay"})


@router.get("/tasks/{task_id}/results", response_model=TaskResults)
async def results(corral: Corral, task_id: Id, include_errors: bool = False) -> Response:
    run = await _task(corral, task_id)
    return StreamingResponse(_results(corral, run, include_errors=include_errors), media_type="application/json")


async def _results(corral: Corral, run: Run, *, include_errors: bool) -> AsyncIterator[bytes]:
    """Yield the results in pieces: a large crawl need not fit into memory."""
    head = {"task_id": run.id, "status": status_of(run.state.value)}
    yield render.dumps(head)[:-1] + b',"results":['
    count, after = 0, ""
    while batch := await corral.store.records.next_batch(run.id, after):
        after = batch[-1].id
        piece = b",".join(render.dumps(record.data) for record in batch)
        yield b"," + piece if count else piece
        count += len(batch)
    now = await corral.store.crawls.get(run.id)
    details = await _error_details(corral, run) if include_errors else None
    rest: dict[str, Any] = {
        "summary": summary_read(run, now, count),
        "errors": None if details is None else [f"{each['url']}: {each['error']}" for each in details],
        "error_details": details,
        "metadata": _metadata(run),
    }
    if include_errors:
        missing = await corral.store.crawls.items(run.id, ItemState.MISSING, 0, _MAX_ERRORS)
        rest["metadata"]["missing"] = [item.url for item in missing]
    if plan_of(run).since is not None:
        gone = await corral.store.crawls.missing_urls(run.id, _MAX_ERRORS)
        rest["metadata"]["gone"] = [redact_result_url(url) for url in gone]
    yield b"]," + render.dumps(rest)[1:]


def _metadata(run: Run) -> dict[str, Any]:
    metadata = {"plan": plan_of(run).document(), **run.payload.read(CrawlPayload).about, "stats": run.stats}
    return {**metadata, "export_url": f"/scraping/tasks/{run.id}/export"} if run.state.is_terminal else metadata


async def _error_details(corral: Corral, run: Run) -> list[dict[str, Any]]:
    failed = await corral.store.crawls.items(run.id, ItemState.FAILED, 0, _MAX_ERRORS)
    # A crawl whose start page is skipped reads nothing: report that as its error, although no page failed.
    skipped = await corral.store.crawls.items(run.id, ItemState.SKIPPED, 0, _MAX_STARTS)
    starts = {seed.url for seed in seeds_of(plan_of(run)) if seed.kind == PAGE}
    return [
        {
            "url": redact_result_url(item.url),
            "depth": item.depth,
            "error_type": _error_type(item),
            "error": redact(item.message or "") or f"not read because of the rule {item.reason}",
            "reason": item.reason,
            "http_status": item.http_status,
            "attempts": item.attempt,
        }
        for item in [*(item for item in skipped if item.url in starts and item.reason != CANONICAL), *failed]
    ]


def _error_type(item: StoredItem) -> str:
    return (item.reason or "").partition(":")[0] if item.state is ItemState.FAILED else FailureCode.POLICY.value


@router.get("/status", response_model=ScrapingStatus)
async def service(corral: Corral) -> Response:
    statistics = await corral.store.crawls.statistics()
    hosts = await corral.store.hosts.list_watched()
    _, blocked = await corral.store.hosts.count_waiting()
    max_tasks = corral.settings.max_crawls
    states = Counter[str]()
    for state, count in statistics.states.items():
        states[status_of(state)] += count
    # The load of the node in this process, if there is one: crawls of other nodes take no slots here.
    load = await corral.store.crawls.load(None if corral.node is None else corral.node.owner)
    fetched = statistics.done + statistics.failed
    error_rate = statistics.failed / fetched if fetched else 0.0
    timeouts = statistics.reasons[FailureCode.TIMEOUT]
    connections = statistics.reasons[FailureCode.NETWORK]
    orchestrator = {
        "status": crawl_health(load, max_tasks, is_draining=corral.draining).value,
        "active_tasks": states["running"],
        "total_tasks": states.total(),
        "max_concurrent_tasks": max_tasks,
        "max_concurrent_articles": AsyncScrapeRequest.model_fields["max_concurrent_articles"].default,
        "available_task_slots": max(0, max_tasks - load.active),
        "task_status_distribution": {name: states[name] for name in _STATUSES},
        "error_statistics": {
            "timeout_errors": timeouts,
            "connection_errors": connections,
            "general_errors": statistics.failed - timeouts - connections,
            "cancelled_tasks": states["cancelled"],
            "circuit_breaker_blocked": blocked,
        },
        "error_rate": round(error_rate, 4),
        "circuit_breaker": breakers_read(hosts),
        "timestamp": datetime.now(UTC),
    }
    answer = {
        "service": "scraping",
        "status": "operational",
        "capabilities": _CAPABILITIES,
        "orchestrator": orchestrator,
    }
    return render.answer(answer)


_STATUSES = ("pending", "running", "completed", "failed", "partial", "cancelled")
