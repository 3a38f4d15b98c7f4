"""Progress of a migration on standard error: a bar per table on a terminal, a line per table in a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from corral.cli.render import console
from corral.store.to_postgres.migrate import Progress

if TYPE_CHECKING:
    from rich.progress import TaskID


@contextmanager
def show_progress() -> Iterator[Progress]:
    if not sys.stderr.isatty():
        yield _line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def show(what: str, table: str, done: int, total: int) -> None:
            if not total:
                return
            # Each row counts twice: it is sent, then read again and compared.
            if table not in tasks:
                tasks[table] = bar.add_task(table, total=2 * total)
            passed = done if what == "copying" else total + done
            bar.update(tasks[table], completed=passed, description=f"{what} {table}")

        yield show


def _line(what: str, table: str, done: int, total: int) -> None:
    if what == "checking" and done == total and total:
        print(f"{table}: {done:,} rows copied and compared", file=sys.stderr, flush=True)
