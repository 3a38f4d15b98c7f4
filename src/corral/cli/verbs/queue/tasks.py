"""`corral queue import`, `list`, `show`, `dead`, `requeue`, `cancel`, `stats` and `scrapers`."""

from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, DryRun, Limit
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.verbs.queue.options import OnlyPriority, ScraperConfig, TaskArgument, TaskQueue
from corral.cli.verbs.queue.summary import print_import
from corral.cli.writable_store import open_writable_store
from corral.domain.errors import BadInput, CorralError
from corral.domain.queue.task import QueueFile, StoredTask, TaskState
from corral.domain.runs.run import RunAction
from corral.scripts.registry import ScraperRegistry
from corral.settings import Settings, load_settings
from corral.store.queries.queue.tasks import TaskFilter
from corral.views.queue import scraper_view, statistics_view, task_view
from corral.wiring.queue import TASK_QUEUE, read_queue_file
from corral.wiring.scrapers import load_scrapers, registry_key

StateOption = Annotated[TaskState | None, typer.Option("--state", help="Only tasks in this state.")]


def import_(
    task_queue: TaskQueue = TASK_QUEUE,
    scraper_config: ScraperConfig = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Import the tasks of a queue file; a running Corral executes them.

    Tasks are identified by their ids: a repeated import adds nothing. Exit code 3 if entries were malformed.

    \b
    corral queue import --task-queue inventory/gaps.json
    """
    settings = load_settings()
    load_scrapers(settings, scraper_config)
    file = read_queue_file(task_queue)
    if dry_run:
        print_import(None, file)
        malformed = len(file.malformed)
        about = {"tasks": len(file.tasks), "malformed": malformed}
        render.print_plan(f"import {len(file.tasks)} tasks of {task_queue}", about, as_json=as_json)
        return
    finish(_import(settings, file, registry_key(scraper_config or settings.scraper_config), as_json=as_json))


async def _import(settings: Settings, file: QueueFile, key: str, *, as_json: bool) -> int:
    async with open_writable_store(settings) as store:
        report = await store.queue.add(file, key)
    if as_json:
        render.print_json(report.document())
    else:
        print(f"{report.imported} imported, {report.updated} updated, {report.unchanged} unchanged")
        print_import(report, file)
    return exits.PARTIAL if report.malformed or report.busy else exits.DONE


def list_(
    state: StateOption = None,
    priority: OnlyPriority = None,
    scraper: Annotated[str | None, typer.Option("--scraper", metavar="NAME", help="Only tasks of this one.")] = None,
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List tasks, newest first.

    \b
    corral queue list --state ready --priority critical
    """
    wanted = TaskFilter(state, None if priority is None else priority.value_of, scraper)
    finish(_list(load_settings(), wanted, limit, as_json=as_json, nothing="no tasks"))


def dead(limit: Limit = 50, as_json: AsJson = False) -> None:
    """List the tasks that failed for good, with the reason.

    \b
    corral queue dead
    """
    finish(_list(load_settings(), TaskFilter(TaskState.DEAD), limit, as_json=as_json, nothing="no dead letters"))


async def _list(settings: Settings, wanted: TaskFilter, limit: int, *, as_json: bool, nothing: str) -> int:
    async with read_store(settings) as store:
        tasks = await store.queue.newest(wanted, None, limit)
    if as_json:
        render.print_json([task_view(each) for each in tasks])
        return exits.DONE
    rows = [
        (each.task.id, each.task.priority.name, each.task.scraper, each.public_state, each.starts, each.reason or "")
        for each in tasks
    ]
    render.print_table(("task", "priority", "scraper", "state", "runs?", "reason…"), rows, nothing=nothing)
    return exits.DONE


def show(task_id: TaskArgument, as_json: AsJson = False) -> None:
    """Show one task with the history of its runs.

    \b
    corral queue show task_000001
    """
    finish(_show(load_settings(), task_id, as_json=as_json))


async def _show(settings: Settings, task_id: str, *, as_json: bool) -> int:
    async with read_store(settings) as store:
        _print_task(await store.queue.get(task_id), as_json=as_json)
    return exits.DONE


def _print_task(stored: StoredTask, *, as_json: bool) -> None:
    view = task_view(stored)
    if as_json:
        render.print_json(view)
        return
    history = view.pop("history")
    render.print_properties(view)
    for entry in history:
        line = f"  run {entry['run_id']}: {entry['state']}"
        print(line + (f", {render.printable(entry['reason'])}" if entry["reason"] else ""))


def requeue(
    task_id: Annotated[str | None, typer.Argument(metavar="TASK", help="The id of a task.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every dead letter.")] = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Start a task again that did not complete.

    Dead letters, cancelled tasks, and tasks that left output out can be started again.

    \b
    corral queue requeue task_000001
    corral queue requeue --all
    """
    if (task_id is None) != every:
        raise BadInput("name a task, or --all for every dead letter", field="task")
    finish(_requeue(load_settings(), task_id, dry_run=dry_run, as_json=as_json))


async def _requeue(settings: Settings, task_id: str | None, *, dry_run: bool, as_json: bool) -> int:
    if dry_run:
        async with read_store(settings) as store:
            state = TaskState.DEAD if task_id is None else (await store.queue.get(task_id)).state
        what = "every dead letter" if task_id is None else f"task {task_id} ({state})"
        render.print_plan(f"requeue {what}", {"task_id": task_id}, as_json=as_json)
        return exits.DONE
    async with open_writable_store(settings) as store:
        await store.queue.note_ends()
        if task_id is not None:
            _print_task(await store.queue.requeue(task_id), as_json=as_json)
            return exits.DONE
        requeued = await store.queue.requeue_dead()
    if as_json:
        render.print_json({"requeued": requeued})
    else:
        print(f"{requeued} tasks were requeued")
    return exits.DONE


def cancel(task_id: TaskArgument, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Cancel a task that has not ended, with its run.

    \b
    corral queue cancel task_000001
    """
    finish(_cancel(load_settings(), task_id, dry_run=dry_run, as_json=as_json))


async def _cancel(settings: Settings, task_id: str, *, dry_run: bool, as_json: bool) -> int:
    if dry_run:
        async with read_store(settings) as store:
            task = await store.queue.get(task_id)
        render.print_plan(f"cancel task {task_id} ({task.public_state})", {"task_id": task_id}, as_json=as_json)
        return exits.DONE
    async with open_writable_store(settings) as store:
        task = await store.queue.cancel(task_id)
        if task.state is TaskState.STARTED and task.run_id is not None:
            await store.runs.apply_action(task.run_id, RunAction.CANCEL)
            await store.queue.note_ends()
        _print_task(await store.queue.get(task_id), as_json=as_json)
    return exits.DONE


def stats(as_json: AsJson = False) -> None:
    """Count the tasks by state, priority and scraper.

    \b
    corral queue stats
    """
    finish(_stats(load_settings(), as_json=as_json))


async def _stats(settings: Settings, *, as_json: bool) -> int:
    async with read_store(settings) as store:
        counts = await store.queue.count()
    if as_json:
        render.print_json(statistics_view(counts))
        return exits.DONE
    rows = [(each.priority.name, each.scraper, each.state.value, each.tasks) for each in sorted(counts, key=_sort_key)]
    render.print_table(("priority", "scraper", "state", "tasks"), rows, nothing="no tasks")
    return exits.DONE


def _sort_key(count: object) -> tuple[object, ...]:
    return (count.priority, count.scraper, count.state)  # type: ignore[attr-defined]


def scrapers(scraper_config: ScraperConfig = None, as_json: AsJson = False) -> None:
    """List the scrapers, and what is wrong with them.

    \b
    corral queue scrapers
    """
    registry = load_scrapers(load_settings(), scraper_config)
    views = [scraper_view(registry.describe(name), find_problem(registry, name)) for name in registry.names()]
    if as_json:
        render.print_json(views)
        return
    for key in registry.unused:
        exits.complain(f"Corral does not use {key}")
    rows = [(each["name"], each["script"] or "", each["problem"] or "✓") for each in views]
    render.print_table(("scraper", "script", "problem…"), rows, nothing="no scrapers; see `corral queue -h`")


def find_problem(registry: ScraperRegistry, name: str) -> str | None:
    try:
        registry.find(name)
    except CorralError as error:
        return error.message
    return None
