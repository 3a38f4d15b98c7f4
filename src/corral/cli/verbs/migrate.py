"""`corral db migrate-to`: copy a whole installation from its SQLite file to PostgreSQL."""

import asyncio
import signal
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.exits import complain
from corral.cli.options import AsJson, DryRun
from corral.cli.progress.migration import show_progress
from corral.cli.secret_input import text_or_file
from corral.cli.stores import database_file
from corral.domain.errors import BadConfiguration, BadInput
from corral.domain.finding import Finding
from corral.settings import Settings, load_settings
from corral.store.open import open_for_reading
from corral.store.to_postgres import migrate as moving
from corral.store.to_postgres.migrate import Moved, Plan, Progress

# Queued runs break this rule until a node works on the new database.
_QUEUED_RULE = "a queued run is due later, or being worked towards"

_TARGET = "An empty PostgreSQL database: postgresql://user:password@host/name; @FILE reads the address from a file."
Target = Annotated[str, typer.Argument(metavar="URL", help=_TARGET)]
To = Annotated[str, typer.Option("--to", metavar="URL", help=_TARGET)]


def migrate_to(url: Target, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Copy the SQLite database to PostgreSQL.

    Corral may keep running: writers wait during the copy, then the old file refuses every write, and runs in flight
    are queued in the new database. After an interruption nothing has changed, or a second call completes the
    migration.

    \b
    corral db migrate-to postgresql://corral@db.example/corral --dry-run
    corral db migrate-to @/run/secrets/database_url
    """
    _migrate(url, dry_run=dry_run, as_json=as_json)


def move(to: To, dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Former name of `corral db migrate-to`.

    \b
    corral db migrate-to postgresql://corral@db.example/corral
    """
    _migrate(to, dry_run=dry_run, as_json=as_json)


def _migrate(url: str, *, dry_run: bool, as_json: bool) -> None:

    settings = load_settings()
    raise typer.Exit(_move(settings, text_or_file(url, "URL"), dry_run=dry_run, as_json=as_json))


def _move(settings: Settings, url: str, *, dry_run: bool, as_json: bool) -> int:

    path = _source(settings, url)
    if dry_run:
        return _report_plan(moving.plan(path, url), as_json=as_json)
    began = time.monotonic()
    try:
        with show_progress() as progress:
            moved = moving.move(path, url, _ignore_interrupts_at_end(progress))
    except KeyboardInterrupt:
        complain("interrupted: nothing was moved, and the old database stays in use")
        raise
    return _report(path, moved, _findings(url), time.monotonic() - began, as_json=as_json)


def _source(settings: Settings, url: str) -> Path:

    if not url.startswith(("postgresql://", "postgresql+psycopg://")):
        hint = "it looks like postgresql://user:password@host:5432/database"
        raise BadInput("the target is not the address of a PostgreSQL database", field="url", hint=hint)
    path = database_file(settings)
    if path is None:
        raise BadConfiguration(
            ["this installation is on PostgreSQL already (APP_DATABASE_URL); only a SQLite file can be moved"]
        )
    return path


def _ignore_interrupts_at_end(progress: Progress) -> Progress:
    """Ignore Ctrl-C between the first commit and the last, where it would leave the migration half done."""

    def report(what: str, table: str, done: int, total: int) -> None:
        if what == "finishing":
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        progress(what, table, done, total)

    return report


def _report_plan(plan: Plan, *, as_json: bool) -> int:

    if as_json:
        about = {"to": plan.address, "tables": plan.rows, "under_way": plan.under_way, "problems": plan.faults}
        render.print_plan("move", about, as_json=True)
    else:
        render.print_table(("table", "rows"), [row for row in plan.rows.items() if row[1]], nothing="there is no row")
        for fault in plan.faults:
            print(f"✗ {fault}")
        print(f"would move {sum(plan.rows.values()):,} rows to PostgreSQL at {plan.address}; nothing was written")
    return exits.FAILED if plan.faults else exits.DONE


def _findings(url: str) -> list[Finding]:
    """Return the problems that `corral doctor` would report about the new database."""

    async def audit() -> list[Finding]:
        store = open_for_reading(url)
        try:
            return [finding for finding in await store.maintenance.audit() if finding.rule != _QUEUED_RULE]
        finally:
            await store.close()

    return asyncio.run(audit())


def _report(path: Path, moved: Moved, findings: list[Finding], took_s: float, *, as_json: bool) -> int:

    if as_json:
        report: dict[str, Any] = {
            "moved": str(path),
            "to": moved.address,
            "tables": moved.rows,
            "requeued": moved.requeued,
            "was_done_before": moved.was_done_before,
            "findings": [f"{each.rule}: {each.subject}: {each.what}" for each in findings],
            "took_s": round(took_s, 1),
        }
        render.print_json(report)
    elif moved.was_done_before:
        print(f"{path} was moved to PostgreSQL at {moved.address} before; nothing is left to do")
    else:
        rows, tables = sum(moved.rows.values()), sum(1 for count in moved.rows.values() if count)
        summary = f"moved {rows:,} rows of {tables} tables to PostgreSQL at {moved.address}"
        print(f"{summary} in {took_s:.1f} s, and compared them")
        if moved.requeued:
            print(f"{moved.requeued:,} running: requeued there, no attempt counted")
        print("now set APP_DATABASE_URL to it, keep APP_DATA_DIR, and start Corral again")
    for finding in findings if not as_json else ():
        print(f"✗ {finding.rule}: {finding.subject}: {finding.what}; {finding.remedy}")
    return exits.FAILED if findings else exits.DONE
