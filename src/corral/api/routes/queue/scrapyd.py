"""The HTTP interface of scrapyd, for clients that exist. A spider is a scraper, and a job is a task of the queue.

Answers have the shape of scrapyd: status 200 with `"status": "ok"` or `"error"`. There is one project, `default`.
"""

import asyncio
import platform
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import parse_qsl
from uuid import uuid4

import orjson
from fastapi import Query, Request
from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral
from corral.api.guard.bodies import is_form
from corral.api.routing import make_router
from corral.domain.errors import BadInput, CorralError
from corral.domain.jobs.job import Priority
from corral.domain.queue.task import ABOUT_TASK, QueueFile, StoredTask, TaskState, parse_task
from corral.domain.runs.run import RunAction, RunState
from corral.engine.queue.feeder import plan_task
from corral.scripts.registry import ScraperRegistry
from corral.store.queries.queue.tasks import TaskFilter
from corral.wiring.scrapers import load_scrapers, registry_key

router = make_router("scrapyd")

PROJECT = "default"
_LISTED = 200
# Parameters of scrapyd itself; all others are arguments of the spider.
_OWN = frozenset({"project", "spider", "jobid", "priority", "_version"})
_WAITING = frozenset({RunState.QUEUED.value, "paused"})
Text = Annotated[str | None, Query(max_length=200)]
Form = dict[str, list[str]]


@router.post("/schedule.json")
async def schedule(request: Request, corral: Corral) -> Response:
    """Queue a task: `project`, `spider`, optional `jobid`, `priority` and `setting`, and arguments of the spider."""
    try:
        form = _read_form(request)
        _check_project(_first(form, "project"))
        task_id = _first(form, "jobid") or uuid4().hex
        await _add_task(corral, form, task_id)
    except CorralError as error:
        return _refuse(error)
    corral.pulse.beat()
    return _answer(jobid=task_id)


async def _add_task(corral: Corral, form: Form, task_id: str) -> None:
    spider = _first(form, "spider")
    if spider is None:
        raise BadInput("spider is required", field="spider")
    if _first(form, "_version") is not None:
        raise BadInput("_version: Corral executes the scripts that are installed; there are no versions")
    params = {name: values if len(values) > 1 else values[0] for name, values in form.items() if name not in _OWN}
    scrapers = await asyncio.to_thread(load_scrapers, corral.settings)
    _check_arguments(params, scrapers, spider)
    entry = {**params, "id": task_id, "scraper": spider, "priority": _read_priority(_first(form, "priority")).name}
    try:
        task = parse_task(entry)
    except ValueError as error:
        raise BadInput(str(error)) from None
    # A wrong spider or argument is refused now, as scrapyd does.
    await asyncio.to_thread(plan_task, task, scrapers)
    if await corral.store.queue.select([task_id]):
        raise BadInput(f"a job {task_id} exists already", field="jobid")
    await corral.store.queue.add(QueueFile([task], [], []), registry_key(corral.settings.scraper_config))


def _check_arguments(params: dict[str, Any], scrapers: ScraperRegistry, spider: str) -> None:
    """Refuse arguments that a task has for itself: the spider would not receive them."""
    spec = scrapers.find(spider)
    accepted = {each.name for each in spec.parameters or ()} - {"id", "scraper", "priority"}
    lost = next((name for name in params if name in ABOUT_TASK and name not in accepted), None)
    if lost is not None:
        raise BadInput(f"argument {lost!r} is a property of the task and is not passed to the spider", field=lost)


@router.post("/cancel.json")
async def cancel(request: Request, corral: Corral) -> Response:
    try:
        form = _read_form(request)
        _check_project(_first(form, "project"))
        job = _first(form, "job")
        if job is None:
            raise BadInput("job is required", field="job")
        before = await corral.store.queue.get(job)
        if before.state.has_ended:
            return _answer(prevstate=None)
        stored = await corral.store.queue.cancel(job)
        if stored.state is TaskState.STARTED and stored.run_id is not None:
            await corral.submitter.apply_action(stored.run_id, RunAction.CANCEL)
            await corral.store.queue.note_ends()
    except CorralError as error:
        return _refuse(error)
    return _answer(prevstate=_state_of(before))


@router.get("/listjobs.json")
async def list_jobs(corral: Corral, project: Text = None, spider: Text = None) -> Response:
    """The tasks that wait and run, and the newest that ended."""
    try:
        _check_project(project or PROJECT)
    except BadInput as error:
        return _refuse(error)
    live = [
        task
        for state in (TaskState.READY, TaskState.STARTED)
        for task in await corral.store.queue.newest(TaskFilter(state, scraper=spider), None, 10_000)
    ]
    ended = [
        task
        for state in TaskState
        if state.has_ended
        for task in await corral.store.queue.newest(TaskFilter(state, scraper=spider), None, _LISTED)
    ]
    ended.sort(key=lambda task: task.seq, reverse=True)
    by_state: dict[str, list[dict[str, Any]]] = {"pending": [], "running": [], "finished": []}
    for task in [*live, *ended[:_LISTED]]:
        by_state[_state_of(task) or "finished"].append(_describe(task))
    return _answer(**by_state)


@router.get("/daemonstatus.json")
async def daemon_status(corral: Corral) -> Response:
    counts = await corral.store.queue.count()
    started = await corral.store.queue.newest(TaskFilter(TaskState.STARTED), None, 10_000)
    running = sum(1 for task in started if _state_of(task) == "running")
    ready = sum(each.tasks for each in counts if each.state is TaskState.READY)
    finished = sum(each.tasks for each in counts if each.state.has_ended)
    return _answer(running=running, pending=ready + len(started) - running, finished=finished)


@router.get("/listprojects.json")
async def list_projects() -> Response:
    return _answer(projects=[PROJECT])


@router.get("/listspiders.json")
async def list_spiders(corral: Corral, project: Text = None, _version: Text = None) -> Response:
    try:
        _check_project(project)
        scrapers = await asyncio.to_thread(load_scrapers, corral.settings)
    except CorralError as error:
        return _refuse(error)
    return _answer(spiders=list(scrapers.names()))


@router.get("/listversions.json")
async def list_versions(project: Text = None) -> Response:
    """Always empty: Corral executes the scripts that are installed."""
    try:
        _check_project(project)
    except BadInput as error:
        return _refuse(error)
    return _answer(versions=[])


def _read_form(request: Request) -> Form:
    body: bytes = request.scope["state"].get("body", b"")
    found: Form = {}
    try:
        if is_form(request.headers.get("content-type")):
            pairs: Sequence[tuple[str, Any]] = parse_qsl(
                body.decode(), keep_blank_values=True, max_num_fields=1000, strict_parsing=bool(body)
            )
        else:
            document = orjson.loads(body or b"{}")
            if not isinstance(document, dict):
                raise ValueError("the body is no object")
            pairs = list(document.items())
    except ValueError as error:
        raise BadInput(f"the form cannot be read: {error}", field="body") from None
    for name, value in pairs:
        values = value if isinstance(value, list) else [value]
        found.setdefault(name, []).extend(str(each) for each in values)
    return found


def _first(form: Form, name: str) -> str | None:
    return form[name][0] if form.get(name) else None


def _check_project(project: str | None) -> None:
    if project is None:
        raise BadInput("project is required", field="project")
    if project != PROJECT:
        raise BadInput(f"project {project[:80]!r} not found; there is one project, {PROJECT!r}", field="project")


def _read_priority(text: str | None) -> Priority:
    """Scrapyd has numbers, and higher ones come first."""
    try:
        number = float(text or 0)
    except ValueError:
        raise BadInput("priority is not a number", field="priority") from None
    if number > 1:
        return Priority.CRITICAL
    return Priority.HIGH if number > 0 else Priority.LOW if number < 0 else Priority.MEDIUM


def _state_of(task: StoredTask) -> str | None:
    if task.state.has_ended:
        return None
    is_waiting = task.state is TaskState.READY or task.run_state in _WAITING
    return "pending" if is_waiting else "running"


def _describe(task: StoredTask) -> dict[str, Any]:
    about = {"id": task.task.id, "project": PROJECT, "spider": task.task.scraper}
    times = {"start_time": task.started_at, "end_time": task.ended_at}
    return {**about, **{name: _format_time(moment) for name, moment in times.items() if moment is not None}}


def _format_time(moment: datetime) -> str:
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")


def _answer(**values: Any) -> Response:
    return render.answer({"node_name": platform.node(), "status": "ok", **values})


def _refuse(error: CorralError) -> Response:
    return render.answer({"node_name": platform.node(), "status": "error", "message": error.message})
