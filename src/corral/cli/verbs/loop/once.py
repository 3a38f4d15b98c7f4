"""`corral loop run-once`: one cycle of the loop in this process."""

import asyncio

from corral.cli import exits, render
from corral.cli.options import ReportOptions
from corral.cli.serving.finish import finish_serving
from corral.cli.verbs.queue.reconcile import code_of_report, reconcile_into
from corral.cli.verbs.queue.run import QueuePlan, QueueRunOptions, execute_file
from corral.cli.writable_store import open_writable_store
from corral.domain.coverage.spec import SourceSpec
from corral.inventory.reconcile import Reconciliation
from corral.settings import Settings, load_settings
from corral.wiring.coverage import load_inventory
from corral.wiring.queue import TASK_QUEUE, read_queue_file
from corral.wiring.scrapers import load_scrapers


def run_once(report: ReportOptions) -> None:
    """Reconcile, and execute the tasks for the gaps, now.

    Afterwards it reconciles once more, so that `inventory/gaps.json` has what is left. The exit
    code is that of `corral queue run`.

    \b
    corral loop run-once
    """
    settings = load_settings()
    sources, scrapers = load_inventory(settings.data_inventory), load_scrapers(settings)
    if report.dry_run:
        render.print_plan("reconcile and execute the tasks", {"sources": len(sources)}, as_json=report.as_json)
        finish_serving(_do_nothing())
    result = asyncio.run(_reconcile(settings, sources))
    if result.report["tasks"] == 0:
        finish_serving(_report_idle(result, report))
    options = QueueRunOptions(report=report)
    plan = QueuePlan(read_queue_file(TASK_QUEUE), scrapers, sources)
    finish_serving(execute_file(settings, options, plan))


async def _reconcile(settings: Settings, sources: list[SourceSpec]) -> Reconciliation:
    async with open_writable_store(settings) as store:
        result, _ = await reconcile_into(settings, store, sources, TASK_QUEUE, is_imported=False)
    for problem in result.report["problems"]:
        exits.complain(problem)
    return result


async def _report_idle(result: Reconciliation, report: ReportOptions) -> int:
    """Report that nothing can be collected; sources that could not be read are excepted."""
    problems = result.report["problems"]
    if report.as_json:
        render.print_json({"total_tasks": 0, "coverage": result.report})
    else:
        where = " in the sources that could be read" if problems else ""
        print(f"nothing is missing that could be collected{where}")
    return code_of_report(result)


async def _do_nothing() -> int:
    return exits.DONE
