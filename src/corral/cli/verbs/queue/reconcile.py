"""`corral queue reconcile`: compare what should be there with what is there, and write tasks for the gaps."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import ReportOptions
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.verbs.queue.coverage_table import print_coverage
from corral.cli.writable_store import open_writable_store
from corral.domain.coverage.spec import SourceSpec
from corral.domain.errors import BadInput, CorralError
from corral.domain.queue.task import ImportReport, parse_queue_file
from corral.inventory.executor import write_queue_file
from corral.inventory.reconcile import Reconciliation, reconcile, remember
from corral.settings import Settings, load_settings
from corral.store.store import Store
from corral.wiring.coverage import choose_sources, load_inventory, open_scan
from corral.wiring.scrapers import registry_key

_OUTPUT = Path("inventory/gaps.json")


@dataclass(frozen=True, kw_only=True)
class ReconcileOptions:
    inventory: Annotated[
        Path | None,
        typer.Option("--inventory", metavar="FILE", help="The data inventory (default config/data_inventory.yaml)."),
    ] = None
    output: Annotated[Path, typer.Option("--output", metavar="FILE", help="The queue file to write.")] = _OUTPUT
    is_imported: Annotated[bool, typer.Option("--import", help="Import the tasks into the queue, too.")] = False
    source: Annotated[
        list[str] | None, typer.Option("--source", metavar="NAME", help="Only this source; may be repeated.")
    ] = None
    report: ReportOptions


def reconcile_command(options: ReconcileOptions) -> None:
    """Find what is missing, and write tasks for it.

    The data inventory names what should exist. The coverage of every source is printed, as a heat map on a terminal.
    Repeating it is safe: a gap that has a task gets no second one.

    \b
    corral queue reconcile
    corral queue reconcile --import
    corral queue reconcile --source box_scores --dry-run --json
    """

    settings = load_settings()
    sources = choose_sources(load_inventory(options.inventory or settings.data_inventory), options.source or [])
    if not options.report.dry_run:
        _check_output(options.output)
    finish(_reconcile(settings, sources, options))


async def _reconcile(settings: Settings, sources: list[SourceSpec], options: ReconcileOptions) -> int:
    if options.report.dry_run:
        async with read_store(settings) as store, open_scan(settings, store.coverage, Path()) as context:
            result = await reconcile(sources, context, datetime.now(UTC))
        _print(result, options, None)
        return code_of_report(result)
    async with open_writable_store(settings) as store:
        result, imported = await reconcile_into(
            settings, store, sources, options.output, is_imported=options.is_imported
        )
    _print(result, options, imported)
    return code_of_report(result)


async def reconcile_into(
    settings: Settings, store: Store, sources: list[SourceSpec], output: Path, *, is_imported: bool
) -> tuple[Reconciliation, ImportReport | None]:
    """Reconcile, store the tasks, write the queue file and, with `is_imported`, import it."""
    async with open_scan(settings, store.coverage, Path()) as context:
        await store.queue.note_ends()
        await store.coverage.note_reported_absences()
        result = await reconcile(sources, context, datetime.now(UTC))
        await remember(result, context)
    _write(output, result)
    imported = await _import(settings, store, result) if is_imported else None
    await store.coverage.add_report(result.report, None)
    return result, imported


def find_sources(settings: Settings) -> list[SourceSpec] | None:
    """Return the sources of the data inventory, or None without one; raise BadConfiguration with its problems."""
    return load_inventory(settings.data_inventory) if settings.data_inventory.is_file() else None


async def reconcile_after(
    settings: Settings, store: Store, sources: list[SourceSpec], *, is_quiet: bool
) -> dict[str, Any]:
    """Reconcile again after a drain, and write the gaps to the usual queue file."""
    result, _ = await reconcile_into(settings, store, sources, _OUTPUT, is_imported=False)
    if not is_quiet:
        print("\nReconciliation:")
        print_coverage(result.report)
        print(f"wrote {result.report['tasks']} tasks to {_OUTPUT}")
    for problem in result.report["problems"]:
        exits.complain(problem)
    return result.report


async def _import(settings: Settings, store: Store, result: Reconciliation) -> ImportReport:
    return await store.queue.add(
        parse_queue_file(result.queue, "the queue document"), registry_key(settings.scraper_config)
    )


def _check_output(path: Path) -> None:
    """Refuse a file that could not be written before anything is scanned."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot create {path.parent}: {error.strerror}", field="output") from None
    if path.is_dir():
        raise BadInput(f"{path} is a folder", field="output", hint="name a file")


def _write(path: Path, result: Reconciliation) -> None:
    try:
        write_queue_file(path, result)
    except OSError as error:
        raise CorralError(f"cannot write {path}: {error.strerror}", hint="name another file with --output") from None


def _print(result: Reconciliation, options: ReconcileOptions, imported: ImportReport | None) -> None:
    is_dry = options.report.dry_run
    if options.report.as_json:
        extra: dict[str, Any] = {} if imported is None else {"import": imported.document()}
        file = {"queue": result.queue} if is_dry else {"output": str(options.output)}
        render.print_json({**result.report, **file, **extra})
    else:
        print_coverage(result.report)
        tasks = result.report["tasks"]
        print(
            f"would write {tasks} tasks; nothing was written" if is_dry else f"wrote {tasks} tasks to {options.output}"
        )
        if imported is not None:
            print(f"imported {imported.imported} tasks, {imported.unchanged} were known, {imported.updated} changed")
    for problem in result.report["problems"]:
        what, _, fix = problem.partition("; ")
        exits.complain(what, fix or None)


def code_of_report(result: Reconciliation) -> int:
    problems = len(result.report["problems"])
    if not problems:
        return exits.DONE
    return exits.FAILED if problems == len(result.results) else exits.PARTIAL
