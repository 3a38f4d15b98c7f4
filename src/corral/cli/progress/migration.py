"""A move as it goes: a bar for each table on a terminal, a line for each in a pipe. On standard error."""

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
            # Each row is sent, and read again to be compared.
            if table not in tasks:
                tasks[table] = bar.add_task(table, total=2 * total)
            passed = done if what == "copying" else total + done
            bar.update(tasks[table], completed=passed, description=f"{what} {table}")

        yield show


def _line(what: str, table: str, done: int, total: int) -> None:
    if what == "checking" and done == total and total:
        print(f"{table}: {done:,} rows copied and compared", file=sys.stderr, flush=True)
