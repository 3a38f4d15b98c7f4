"""`corral queue run`: execute the tasks of a queue file by priority."""

import asyncio
import shlex
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import ReportOptions
from corral.cli.progress.queue import show_progress
from corral.cli.running import Stop, first_of
from corral.cli.serving.finish import finish_serving
from corral.cli.stores import read_store
from corral.cli.verbs.queue.options import OnlyPriority, ScraperConfig, TaskQueue
from corral.cli.verbs.queue.reconcile import find_sources, reconcile_after
from corral.cli.verbs.queue.summary import print_head, print_import, print_summary
from corral.domain.coverage.spec import SourceSpec
from corral.domain.queue.task import QueueFile, QueueTask, TaskState
from corral.log import configure_logging
from corral.scripts.registry import ScraperRegistry
from corral.settings import Settings, load_settings
from corral.wiring.queue import (
    TASK_QUEUE,
    PlannedTask,
    QueueOrder,
    QueueSession,
    open_queue,
    plan_tasks,
    read_queue_file,
)
from corral.wiring.scrapers import load_scrapers


@dataclass(frozen=True, kw_only=True)
class QueueRunOptions:
    task_queue: TaskQueue = TASK_QUEUE
    scraper_config: ScraperConfig = None
    priority: OnlyPriority = None
    max_concurrent: Annotated[
        int, typer.Option("--max-concurrent", min=1, max=1000, help="Scrapers at once at most.")
    ] = 5
    retry_dead: Annotated[
        bool, typer.Option("--retry-dead", help="Also execute tasks of the file again that failed for good.")
    ] = False
    no_reconciliation: Annotated[
        bool, typer.Option("--no-reconciliation", help="Do not look for gaps again afterwards.")
    ] = False
    report: ReportOptions

    def to_order(self) -> QueueOrder:
        priority = None if self.priority is None else self.priority.value_of
        return QueueOrder(self.task_queue, self.scraper_config, priority, self.max_concurrent, self.retry_dead)


def run(options: QueueRunOptions) -> None:
    """Execute the tasks of a queue file, CRITICAL ones first.

    HIGH, MEDIUM and LOW ones follow, each when no task of a higher priority is ready. The file is imported first; a
    task that completed before is not executed again. After Ctrl-C no task starts and running tasks finish; a second one
    stops them. The same command continues.
    Exit code: 0 nothing failed, 1 a task failed, 2 bad arguments, 3 output was left out, 78 bad files, 130 interrupted.

    \b
    corral queue run
    corral queue run --priority critical --max-concurrent 3
    corral queue run --task-queue my_queue.json --dry-run
    """
    settings = load_settings()
    order = options.to_order()
    scrapers = load_scrapers(settings, order.scraper_config)
    file = read_queue_file(order.task_queue)
    sources = None if options.no_reconciliation else find_sources(settings)
    if options.report.dry_run:
        finish_serving(_print_plan(settings, options, file, scrapers))
    finish_serving(execute_file(settings, options, QueuePlan(file, scrapers, sources)))


async def _print_plan(settings: Settings, options: QueueRunOptions, file: QueueFile, scrapers: ScraperRegistry) -> int:
    order = options.to_order()
    tasks = order.select_tasks(file)
    async with read_store(settings) as store:
        stored = {each.task.id: each for each in await store.queue.select([task.id for task in tasks])}
    settled = {
        task.id: stored[task.id].state
        for task in tasks
        if task.id in stored and stored[task.id].has_settled(task, retry_dead=order.retry_dead)
    }
    done = sorted(id_ for id_, state in settled.items() if state is TaskState.COMPLETED)
    planned = plan_tasks([task for task in tasks if task.id not in settled], scrapers)
    if options.report.as_json:
        described = [_describe_plan(each) for each in planned]
        malformed = [{"index": each.index, "id": each.id, "reason": each.reason} for each in file.malformed]
        others = {id_: state.value for id_, state in settled.items() if state is not TaskState.COMPLETED}
        render.print_json(
            {"tasks": described, "already_completed": done, "already_ended": others, "malformed": malformed}
        )
        return exits.DONE
    print_head(order, tasks, dry_run=True)
    print_import(None, file)
    for entry in planned:
        text = shlex.join(entry.command) if entry.problem is None else f"cannot start: {entry.problem}"
        print(f"[{entry.task.id}] {entry.task.priority.name} {render.printable(text, 65_536)}")
    if done:
        print(f"{len(done)} completed before and would not be executed again")
    if len(settled) > len(done):
        print(f"{len(settled) - len(done)} ended otherwise before; see `corral queue list`, or use --retry-dead")
    print(f"would execute {sum(1 for each in planned if each.problem is None)} tasks; nothing was executed")
    return exits.DONE


def _describe_plan(planned: PlannedTask) -> dict[str, Any]:
    task = planned.task
    about: dict[str, Any] = {"id": task.id, "priority": task.priority.name, "scraper": task.scraper}
    if planned.problem is not None:
        return {**about, "problem": planned.problem}
    return {**about, "command": list(planned.command), "timeout_s": planned.timeout_s}


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """The input of a queue run. `sources` are reconciled afterwards; None disables that."""

    file: QueueFile
    scrapers: ScraperRegistry
    sources: list[SourceSpec] | None = None


async def execute_file(settings: Settings, options: QueueRunOptions, plan: QueuePlan) -> int:
    configure_logging("error")
    order, file = options.to_order(), plan.file
    tasks = order.select_tasks(file)
    is_quiet = options.report.as_json
    stop = Stop()
    stop.listen()
    async with open_queue(settings, order, file, plan.scrapers) as (app, session):
        assert app.node is not None
        stop.on_repeat = app.node.stop_now
        report = await session.import_tasks()
        if not is_quiet:
            print_head(order, tasks, dry_run=False)
            print_import(report, file)
        has_ended = await _drain(session, tasks, stop, is_quiet=is_quiet)
        if not has_ended:
            wait_s = settings.shutdown_grace_seconds
            exits.complain("stopping: no task starts any more", f"running tasks get {wait_s:g} s; Ctrl-C stops them")
            await app.stop_work()
            await session.collect_ends()
        stats = session.summarize()
        if not is_quiet:
            print_summary(stats)
        coverage: dict[str, Any] | None = None
        if has_ended and session.has_completed and plan.sources is not None:
            again = asyncio.ensure_future(reconcile_after(settings, app.store, plan.sources, is_quiet=is_quiet))
            has_ended = await first_of(_wait_for(again), stop)
            coverage = again.result() if has_ended else None
        if is_quiet:
            render.print_json({**stats, "import": report.document(), "coverage": coverage})
    if not has_ended:
        exits.complain("interrupted; nothing is lost", "the same command continues")
        return exits.INTERRUPTED
    is_short = file.malformed or report.busy or (coverage is not None and coverage["problems"])
    return code_of_statistics(stats, is_short=bool(is_short))


async def _wait_for(work: "asyncio.Future[dict[str, Any]]") -> None:
    await work


async def _drain(session: QueueSession, tasks: list[QueueTask], stop: Stop, *, is_quiet: bool) -> bool:
    with show_progress(len(tasks), is_quiet=is_quiet) as watcher:
        return await first_of(session.drain(watcher), stop)


def code_of_statistics(stats: dict[str, Any], *, is_short: bool) -> int:
    """Return the exit code. `is_short`: entries of the file, or sources of the reconciliation, were left out."""
    if stats["failed"]:
        return exits.FAILED
    return exits.PARTIAL if stats["partial"] or is_short else exits.DONE
