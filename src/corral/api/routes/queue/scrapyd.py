"""The HTTP interface of scrapyd, for existing clients. A spider is a scraper, and a job is a task of the queue.

As in scrapyd, an answer has status 200 with `"status": "ok"`, or `"error"` and a message. Errors of the server itself
(token, rate, size of the body, storage) are answered as everywhere in Corral.
"""

import asyncio
import platform
from collections.abc import Coroutine, Iterable, Sequence
from typing import Annotated, Any
from urllib.parse import parse_qsl
from uuid import uuid4

import orjson
from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral
from corral.api.guard.bodies import is_form, is_multipart
from corral.api.routing import ERRORS
from corral.domain.errors import BadInput, CorralError, StorageError
from corral.domain.queue.scrapyd import (
    Form,
    describe_job,
    first_of,
    make_entry,
    read_signal,
    refuse_project,
    refuse_version,
    require,
    state_of,
)
from corral.domain.queue.task import QueueFile, StoredTask, TaskState, is_task_id, parse_task
from corral.domain.runs.run import RunAction
from corral.domain.scripts.scraper import DEFAULT_PROJECT
from corral.engine.queue.feeder import plan_task
from corral.scripts.registry import ScraperRegistry
from corral.store.queries.queue.tasks import TaskFilter
from corral.wiring.app import App
from corral.wiring.scrapers import load_scrapers, registry_key

# Scrapyd ignores parameters that it does not know.
router = APIRouter(tags=["scrapyd"], responses=ERRORS)

_Name = Annotated[str | None, Query(max_length=200)]
_MAX_ENDED = 200
_MAX_LIVE = 10_000
_NO_UPLOADS = "Corral takes no uploads: it executes the scripts that are installed; see config/scraper_config.yaml"


@router.post("/schedule.json")
async def schedule(request: Request, corral: Corral) -> Response:
    """Queue a task: `project`, `spider`, optional `jobid`, `priority` and `setting`, and arguments of the spider."""
    return await _answer(_schedule(request, corral))


async def _schedule(request: Request, corral: App) -> dict[str, Any]:
    form = _read_form(request)
    project, spider = require(form, "project"), require(form, "spider")
    scrapers = await _load_project(corral, project)
    _check_version(first_of(form, "_version"))
    if spider not in _spiders_of(scrapers, project):
        raise BadInput(f"spider '{spider[:80]}' not found", field="spider")
    task_id = first_of(form, "jobid") or uuid4().hex
    try:
        task = parse_task(make_entry(form, task_id, scrapers.describe(spider)))
    except ValueError as error:
        raise BadInput(str(error)) from None
    # A wrong argument is refused now, not when the task starts.
    await asyncio.to_thread(plan_task, task, scrapers)
    is_known = bool(await corral.store.queue.select([task_id]))
    key = registry_key(corral.settings.scraper_config)
    # Of two requests with one id at the same moment, one imports the task.
    if is_known or not (await corral.store.queue.add(QueueFile([task], [], []), key)).imported:
        raise BadInput(f"a job {task_id} exists already", field="jobid")
    corral.pulse.beat()
    return {"jobid": task_id}


@router.post("/cancel.json")
async def cancel(request: Request, corral: Corral) -> Response:
    """Cancel a task with its run: `project`, `job`, and `signal` (INT, TERM or KILL) for its script."""
    return await _answer(_cancel(request, corral))


async def _cancel(request: Request, corral: App) -> dict[str, Any]:
    form = _read_form(request)
    project, job = require(form, "project"), require(form, "job")
    signal = read_signal(first_of(form, "signal"))
    scrapers = await _load_project(corral, project)
    found = await _find_job(corral, scrapers, project, job)
    if found is None or found.state.has_ended:
        return {"prevstate": None}
    try:
        stored = await corral.store.queue.cancel(job)
        if stored.state is TaskState.STARTED and stored.run_id is not None:
            await corral.submitter.apply_action(stored.run_id, RunAction.CANCEL, signal)
            await corral.store.queue.note_ends()
    except StorageError:
        raise
    except CorralError:  # it ended at the same moment
        return {"prevstate": None}
    return {"prevstate": state_of(found)}


@router.get("/status.json")
async def read_status(corral: Corral, job: _Name = None, project: _Name = None) -> Response:
    """Return the state of one job."""
    return await _answer(_read_status(corral, job, project))


async def _read_status(corral: App, job: str | None, project: str | None) -> dict[str, Any]:
    wanted = require({"job": [job]} if job is not None else {}, "job")
    scrapers = await _load_project(corral, project)
    found = await _find_job(corral, scrapers, project, wanted)
    return {"currstate": None if found is None else state_of(found)}


@router.get("/listjobs.json")
async def list_jobs(corral: Corral, project: _Name = None, spider: _Name = None) -> Response:
    """List the tasks that wait and run, and the newest that ended."""
    return await _answer(_list_jobs(corral, project, spider))


async def _list_jobs(corral: App, project: str | None, spider: str | None) -> dict[str, Any]:
    scrapers = await _load_project(corral, project)
    wanted = _choose_scrapers(scrapers, project, spider)
    live = [
        task
        for state in (TaskState.READY, TaskState.STARTED)
        for task in await _newest(corral, state, wanted, _MAX_LIVE)
    ]
    ended = [
        task for state in TaskState if state.has_ended for task in await _newest(corral, state, wanted, _MAX_ENDED)
    ]
    ended.sort(key=lambda task: task.seq, reverse=True)
    by_state: dict[str, list[dict[str, Any]]] = {"pending": [], "running": [], "finished": []}
    for task in [*live, *ended[:_MAX_ENDED]]:
        by_state[state_of(task)].append(describe_job(task, _project_of(scrapers, task.task.scraper)))
    return by_state


async def _newest(corral: App, state: TaskState, scrapers: Iterable[str | None], limit: int) -> list[StoredTask]:
    return [
        task
        for name in scrapers
        for task in await corral.store.queue.newest(TaskFilter(state, None, name), None, limit)
    ]


@router.get("/daemonstatus.json")
async def daemon_status(corral: Corral) -> Response:
    return await _answer(_count_jobs(corral))


async def _count_jobs(corral: App) -> dict[str, Any]:
    counts = await corral.store.queue.count()
    started = await corral.store.queue.newest(TaskFilter(TaskState.STARTED), None, _MAX_LIVE)
    running = sum(1 for task in started if state_of(task) == "running")
    ready = sum(each.tasks for each in counts if each.state is TaskState.READY)
    finished = sum(each.tasks for each in counts if each.state.has_ended)
    return {"running": running, "pending": ready + len(started) - running, "finished": finished}


@router.get("/listprojects.json")
async def list_projects(corral: Corral) -> Response:
    return await _answer(_list_projects(corral))


async def _list_projects(corral: App) -> dict[str, Any]:
    return {"projects": _projects_of(await _load_project(corral, None))}


@router.get("/listspiders.json")
async def list_spiders(corral: Corral, project: _Name = None, _version: _Name = None) -> Response:
    return await _answer(_list_spiders(corral, project, _version))


async def _list_spiders(corral: App, project: str | None, version: str | None) -> dict[str, Any]:
    wanted = require({"project": [project]} if project is not None else {}, "project")
    scrapers = await _load_project(corral, wanted)
    _check_version(version)
    return {"spiders": _spiders_of(scrapers, wanted)}


@router.get("/listversions.json")
async def list_versions(corral: Corral, project: _Name = None) -> Response:
    """Return an empty list: Corral executes the scripts that are installed."""
    return await _answer(_list_versions(corral, project))


async def _list_versions(corral: App, project: str | None) -> dict[str, Any]:
    await _load_project(corral, require({"project": [project]} if project is not None else {}, "project"))
    return {"versions": []}


@router.post("/addversion.json")
@router.post("/delversion.json")
@router.post("/delproject.json")
async def refuse_upload() -> Response:
    """Refuse to change what is installed."""
    return await _answer(_refuse_upload())


async def _refuse_upload() -> dict[str, Any]:
    raise BadInput(_NO_UPLOADS)


# -- shared by the routes --------------------------------------------------------------------------


async def _answer(work: Coroutine[Any, Any, dict[str, Any]]) -> Response:
    try:
        found = {"status": "ok", **await work}
    except StorageError:
        raise
    except CorralError as error:
        found = {"status": "error", "message": error.message}
    return render.answer({"node_name": platform.node(), **found})


async def _load_project(corral: App, project: str | None) -> ScraperRegistry:
    """Return the scrapers; raise BadInput if none of them belongs to the named project."""
    scrapers = await asyncio.to_thread(load_scrapers, corral.settings)
    if project is not None and project not in _projects_of(scrapers):
        raise refuse_project(project)
    return scrapers


def _projects_of(scrapers: ScraperRegistry) -> list[str]:
    """Return the projects of the scrapers; the default project if there are no scrapers."""
    return sorted({scrapers.describe(name).project for name in scrapers.names()}) or [DEFAULT_PROJECT]


def _spiders_of(scrapers: ScraperRegistry, project: str) -> list[str]:
    return [name for name in scrapers.names() if scrapers.describe(name).project == project]


def _project_of(scrapers: ScraperRegistry, scraper: str) -> str:
    """Return the project of a task, even if its scraper no longer exists."""
    return scrapers.describe(scraper).project if scraper in scrapers.names() else DEFAULT_PROJECT


def _choose_scrapers(scrapers: ScraperRegistry, project: str | None, spider: str | None) -> Sequence[str | None]:
    """Return the scrapers whose jobs to list; None stands for all."""
    if project is None or _projects_of(scrapers) == [project]:
        known: list[str] | None = None
    else:
        known = _spiders_of(scrapers, project)
    if spider is None:
        return [None] if known is None else known
    is_known = spider in (scrapers.names() if known is None else known)
    return [spider] if is_known else []


async def _find_job(corral: App, scrapers: ScraperRegistry, project: str | None, job: str) -> StoredTask | None:
    found = await corral.store.queue.select([job]) if is_task_id(job) else []
    is_there = found and (project is None or _project_of(scrapers, found[0].task.scraper) == project)
    return found[0] if is_there else None


def _check_version(version: str | None) -> None:
    if version:
        raise refuse_version(version)


def _read_form(request: Request) -> Form:
    content_type = request.headers.get("content-type")
    body: bytes = request.scope["state"].get("body", b"")
    if is_multipart(content_type):
        raise BadInput("send the form URL-encoded (curl -d, not -F)", field="body")
    form: dict[str, list[str]] = {}
    try:
        if is_form(content_type):
            pairs: Sequence[tuple[str, Any]] = parse_qsl(
                body.decode(), keep_blank_values=True, max_num_fields=1000, strict_parsing=bool(body)
            )
        else:
            document = orjson.loads(body or b"{}")
            if not isinstance(document, dict):
                raise ValueError("the body is not an object")
            pairs = list(document.items())
    except ValueError as error:
        raise BadInput(f"the form cannot be read: {error}", field="body") from None
    for name, value in pairs:
        values = value if isinstance(value, list) else [value]
        form.setdefault(name, []).extend(str(each) for each in values)
    return form
