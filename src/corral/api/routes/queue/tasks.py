"""The queue of scraper tasks: import, list, requeue, cancel, count."""

import asyncio
from typing import Annotated

from fastapi import Depends, Path, Query
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Cursor, Limit
from corral.api.routing import make_router
from corral.api.schemas.queue import (
    PriorityLabel,
    QueueImport,
    QueueImportRead,
    QueueStatistics,
    RequeuedRead,
    ScraperRead,
    TaskRead,
)
from corral.domain.errors import CorralError
from corral.domain.jobs.job import Priority
from corral.domain.queue.task import TaskState, parse_queue_file
from corral.domain.runs.run import RunAction
from corral.store.queries.queue.tasks import TaskFilter
from corral.views.queue import scraper_view, statistics_view, task_view
from corral.wiring.scrapers import load_scrapers, registry_key

router = make_router("queue")

TaskId = Annotated[str, Path(max_length=128)]
StateQuery = Annotated[TaskState | None, Query()]


@router.post("/queue/import", response_model=QueueImportRead)
async def import_tasks(body: QueueImport, corral: Corral) -> Response:
    """Import tasks by their ids: a repeated import adds nothing. Nodes execute them by priority."""
    file = parse_queue_file({"tasks": body.tasks, "total_tasks": body.total_tasks}, "the body")
    report = await corral.store.queue.add(file, registry_key(corral.settings.scraper_config))
    corral.pulse.beat()
    return render.answer(report.document())


async def _parse_filter(
    state: StateQuery = None,
    priority: PriorityLabel | None = None,
    scraper: Annotated[str | None, Query(max_length=200)] = None,
) -> TaskFilter:
    return TaskFilter(state, None if priority is None else Priority[priority], scraper)


Filter = Annotated[TaskFilter, Depends(_parse_filter)]


@router.get("/queue/tasks", response_model=list[TaskRead])
async def list_tasks(corral: Corral, task_filter: Filter, limit: Limit = 50, cursor: Cursor = None) -> Response:
    return await _page(corral, task_filter, limit, cursor)


@router.get("/queue/dead", response_model=list[TaskRead])
async def list_dead_letters(corral: Corral, limit: Limit = 50, cursor: Cursor = None) -> Response:
    return await _page(corral, TaskFilter(TaskState.DEAD), limit, cursor)


async def _page(corral: Corral, task_filter: TaskFilter, limit: int, cursor: str | None) -> Response:
    found = await corral.store.queue.newest(task_filter, render.cursor_number(cursor), limit)
    return render.page([task_view(each) for each in found], str(found[-1].seq) if found else None, limit)


@router.post("/queue/dead/requeue", response_model=RequeuedRead)
async def requeue_dead_letters(corral: Corral) -> Response:
    requeued = await corral.store.queue.requeue_dead()
    corral.pulse.beat()
    return render.answer({"requeued": requeued})


@router.get("/queue/stats", response_model=QueueStatistics)
async def count_tasks(corral: Corral) -> Response:
    return render.answer(statistics_view(await corral.store.queue.count()))


@router.get("/queue/scrapers", response_model=list[ScraperRead])
async def list_scrapers(corral: Corral) -> Response:
    return render.answer(await asyncio.to_thread(_describe_scrapers, corral))


def _describe_scrapers(corral: Corral) -> list[dict[str, object]]:
    registry = load_scrapers(corral.settings)
    views = []
    for name in registry.names():
        try:
            registry.find(name)
            problem = None
        except CorralError as error:
            problem = error.message
        views.append(scraper_view(registry.describe(name), problem))
    return views


@router.get("/queue/tasks/{task_id}", response_model=TaskRead)
async def read_task(task_id: TaskId, corral: Corral) -> Response:
    return render.answer(task_view(await corral.store.queue.get(task_id)))


@router.post("/queue/tasks/{task_id}/requeue", response_model=TaskRead)
async def requeue_task(task_id: TaskId, corral: Corral) -> Response:
    """Let a task that failed, was cancelled or left output out start again."""
    stored = await corral.store.queue.requeue(task_id)
    corral.pulse.beat()
    return render.answer(task_view(stored))


@router.post("/queue/tasks/{task_id}/cancel", response_model=TaskRead)
async def cancel_task(task_id: TaskId, corral: Corral) -> Response:
    """Cancel a task that has not ended, with its run."""
    stored = await corral.store.queue.cancel(task_id)
    if stored.state is TaskState.STARTED and stored.run_id is not None:
        await corral.submitter.apply_action(stored.run_id, RunAction.CANCEL)
        await corral.store.queue.note_ends()
    return render.answer(task_view(await corral.store.queue.get(task_id)))
