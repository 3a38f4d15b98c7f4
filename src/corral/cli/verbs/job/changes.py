"""`corral job changes`."""

from typing import Annotated

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson, check_id
from corral.cli.running import finish
from corral.cli.stores import read_store
from corral.cli.verbs.job.list import JobArgument
from corral.domain.records.changes import ChangedRow, RowChange, RunComparison
from corral.engine.usecases.changes import compare_runs_of_job
from corral.settings import Settings, load_settings
from corral.views.changes import changes_read

_DEFAULT_KINDS = frozenset(RowChange) - {RowChange.UNCHANGED}


def changes(  # noqa: PLR0917 - an option each
    job_id: JobArgument,
    run_id: Annotated[str | None, typer.Option("--run", metavar="RUN", help="The later run (the latest).")] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="RUN", help="The earlier run (the one before it).")
    ] = None,
    kind: Annotated[list[RowChange] | None, typer.Option("--kind", help="Show only rows of this kind.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many rows to show at most.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Show new, changed and gone rows of a job.

    The latest run is compared with the last complete one before it. Nothing is gone because a run went wrong.

    \b
    corral job changes 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b
    corral job changes 0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b --json | jq .counts
    """

    runs = (run_id and check_id(run_id, "run"), since and check_id(since, "run"))
    kinds = frozenset(kind) if kind else _DEFAULT_KINDS
    finish(_changes(load_settings(), check_id(job_id, "job"), runs, kinds, limit, as_json=as_json))


async def _changes(
    settings: Settings,
    job_id: str,
    runs: tuple[str | None, str | None],
    kinds: frozenset[RowChange],
    limit: int,
    *,
    as_json: bool,
) -> int:

    async with read_store(settings) as store:
        await store.jobs.get(job_id)
        comparison = await compare_runs_of_job(store.runs, job_id, *runs)
        counts = await store.records.count_changes(comparison)
        rows = (await store.records.list_changes(comparison, kinds, None, limit)).rows
    if as_json:
        render.print_json(changes_read(job_id, comparison, counts, rows))
        return exits.DONE
    print(f"run {comparison.run_id} compared with {comparison.since or 'nothing: it is the first'}")
    print(", ".join(f"{number} {change}" for change, number in counts.items()))
    _print_notes(comparison)
    if rows:
        render.print_table(("change", "key", "fields…"), [_row_of(row) for row in rows])
    return exits.DONE


def _print_notes(comparison: RunComparison) -> None:

    if not comparison.is_complete:
        print("note: the run may have missed rows, so none is gone: rows that it lacks are unknown")
    if not comparison.is_since_complete:
        print("note: the earlier run may have missed rows, so new rows may be older than they seem")
    problems = comparison.key_problems
    if problems.get("missing"):
        print(f"note: {problems['missing']} rows lack the key {', '.join(comparison.key)}; their URL identifies them")
    if problems.get("duplicates"):
        examples = render.printable(", ".join(problems.get("examples", ())))
        print(f"note: {problems['duplicates']} rows have a key that another row has, such as {examples}")


def _row_of(row: ChangedRow) -> tuple[str, str, str]:
    fields = (f"{name}: {_short(values['before'])} → {_short(values['after'])}" for name, values in row.fields.items())
    return row.change.value, render.printable(row.key), render.printable("; ".join(fields))


def _short(value: object) -> str:
    text = str(render.printable(value))
    return text if len(text) <= 60 else f"{text[:59]}…"
