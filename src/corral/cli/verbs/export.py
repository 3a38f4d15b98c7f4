"""`corral export`: write the records of a run to a file."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.files import check_destination, check_output, is_standard_output, write_export
from corral.cli.options import ReportOptions, check_id
from corral.cli.progress import export as export_progress
from corral.cli.running import Stop, finish, first_of
from corral.cli.stores import read_store
from corral.cli.streams import OutputLost
from corral.domain.errors import BadInput
from corral.domain.records.changes import CHANGES, RunComparison
from corral.domain.runs.record import RecordFilter
from corral.domain.runs.run import Run
from corral.engine.usecases.changes import compare_for_export
from corral.export.formats import Format, format_of
from corral.export.stream import Export, ExportProgress, chunks
from corral.settings import Settings, load_settings
from corral.store.store import Store


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id of a run.")]
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Output: .json .jsonl .csv .parquet .xlsx .warc.gz; - is standard output.",
        ),
    ]
    kind: Annotated[
        Format | None, typer.Option("--format", help="The format, if the file name does not determine it.")
    ] = None
    only_changes: Annotated[
        bool,
        typer.Option(
            "--only-changes", help="Write only new, changed and gone rows since the last complete run of the job."
        ),
    ] = False
    since: Annotated[
        str | None, typer.Option("--since", metavar="RUN", help="With --only-changes: the earlier run.")
    ] = None
    withheld: Annotated[
        bool, typer.Option("--withheld", help="Also if the records are kept apart because of the run's verdict.")
    ] = False
    report: ReportOptions


def export(options: ExportOptions) -> None:
    """Write the records of a run to a file.

    The file appears complete or not at all, whatever its size. A run in progress is exported with its records so
    far. A WARC requires a crawl that archived its pages.

    \b
    corral export 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b -o pages.parquet
    corral export 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b -o pages.xlsx --json
    corral export 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b -o changes.csv --only-changes
    corral export 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --format jsonl -o - | gzip > pages.jsonl.gz
    """

    check_id(options.run_id, "run")
    wanted = _check_format(options)
    finish(_export(load_settings(), options, wanted))


def _check_format(options: ExportOptions) -> Format:

    if not is_standard_output(options.output):
        check_output(options.output, options.kind, keeps_pages=True)
        file_format = options.kind or format_of(options.output)
        assert file_format is not None
        return file_format
    if options.kind is None:
        raise BadInput("for standard output, name the format", field="format", hint="add --format jsonl")
    check_destination(options.output, as_json=options.report.as_json)
    return options.kind


async def _export(settings: Settings, options: ExportOptions, kind: Format) -> int:

    run_id, output, report = options.run_id, options.output, options.report
    async with read_store(settings) as store:
        run = await store.runs.get(run_id)
        since = options.since and check_id(options.since, "run")
        changes = await compare_for_export(store.runs, run, only_changes=options.only_changes, since=since)
        wanted, progress = plan_export(run, output, kind, changes, with_withheld=options.withheld)
        wanted.check()
        total = await _total_of(store, wanted)
        what = f"{total:,} {_things(wanted)} of run {run_id}"
        about: dict[str, Any] = {"run_id": run_id, "format": kind.value, "output": str(output)}
        if changes is not None:
            about |= {"since": changes.since, "is_complete": changes.is_complete}
        if report.dry_run:
            render.print_plan(f"write {what} to {output}", {**about, "records": total}, as_json=report.as_json)
            return exits.DONE
        if not await run_export(store, wanted, output, progress):
            return exits.INTERRUPTED
    if report.as_json:
        render.print_json({**about, "records": progress.written, "bytes": progress.size})
    elif not is_standard_output(output):
        print(f"{progress.written} {_things(wanted)} written to {output}")
        if changes is not None and not changes.is_complete:
            print("note: the run may have missed rows, so none is gone")
    return exits.DONE


def _things(wanted: Export) -> str:
    if wanted.changes is not None:
        return "changed rows"
    return "pages" if wanted.format is Format.WARC else "records"


def plan_export(
    run: Run,
    output: Path,
    kind: Format | None = None,
    changes: RunComparison | None = None,
    *,
    with_withheld: bool = False,
) -> tuple[Export, ExportProgress]:

    file_format = kind or format_of(output)
    assert file_format is not None
    packs = not output.name.lower().endswith(".warc")
    return Export(run, file_format, packs=packs, changes=changes, with_withheld=with_withheld), ExportProgress()


async def _total_of(store: Store, wanted: Export) -> int:

    if wanted.changes is not None:
        counts = await store.records.count_changes(wanted.changes)
        return sum(counts[kind] for kind in CHANGES)

    if wanted.format is Format.WARC:
        return await store.pages.count(wanted.run.id)
    return (await store.records.statistics(RecordFilter(run_id=wanted.run.id)))[0]


async def run_export(store: Store, wanted: Export, output: Path, progress: ExportProgress) -> bool:
    """Write the export; return False if it was interrupted. Then the file is missing or unchanged."""

    stop = Stop()
    stop.listen()
    total = await _total_of(store, wanted)
    async with export_progress.show_progress(progress, total, reads_twice=wanted.format.needs_columns):
        if is_standard_output(output):
            done = await first_of(_print_export(store, wanted, progress), stop)
        else:
            done = await first_of(write_export(output, store, wanted, progress), stop)
    if not done:
        hint = f"`corral export {wanted.run.id} -o {output}` starts again"
        exits.complain(f"interrupted; {output} was not written", hint)
    return done


async def _print_export(store: Store, wanted: Export, progress: ExportProgress) -> None:

    try:
        async for chunk in chunks(store, wanted, progress):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    except OSError as error:
        raise OutputLost(error.errno, error.strerror) from None
