"""Progress of a drain on standard error: a bar with the time left on a terminal, a line per task in a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from corral.cli.render import console, printable
from corral.domain.queue.statistics import EndedTask
from corral.domain.queue.task import StoredTask
from corral.engine.queue.drain import DrainWatcher

_ICONS = {"completed": "✓", "partial": "!", "failed": "✗", "skipped": "·"}


@contextmanager
def show_progress(total: int, *, is_quiet: bool) -> Iterator[DrainWatcher]:
    if is_quiet:
        yield _Quiet()
        return
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True)) as bar:
        yield _Bar(bar, bar.add_task("starting", total=total))


def describe_start(stored: StoredTask) -> str:
    task = stored.task
    why = f" ({printable(task.document['reason'], 120)})" if isinstance(task.document.get("reason"), str) else ""
    return f"[{task.id}] {task.priority.name} {printable(task.scraper)}: started{why}"


def describe_end(ended: EndedTask) -> str:
    task, icon = ended.task, _ICONS[ended.outcome]
    if not ended.is_new:
        outcome = f"{ended.outcome} before"
    else:
        outcome = f"{ended.outcome} in {ended.duration_s:.1f} s"
    why = f": {printable(ended.reason)}" if ended.reason else ""
    return f"[{task.id}] {icon} {task.priority.name} {printable(task.scraper)}: {outcome}{why}"


class _Quiet:
    def on_start(self, stored: StoredTask) -> None: ...
    def on_end(self, ended: EndedTask) -> None: ...
    def tick(self, running: int) -> None: ...


class _Lines:
    def on_start(self, stored: StoredTask) -> None:
        print(describe_start(stored), file=sys.stderr, flush=True)

    def on_end(self, ended: EndedTask) -> None:
        if ended.is_new or ended.outcome != "completed":
            print(describe_end(ended), file=sys.stderr, flush=True)

    def tick(self, running: int) -> None: ...


class _Bar(_Lines):
    def __init__(self, bar: Any, row: Any) -> None:
        self._bar = bar
        self._row = row

    def on_start(self, stored: StoredTask) -> None:
        self._bar.console.print(describe_start(stored), markup=False, style="bright_black")

    def on_end(self, ended: EndedTask) -> None:
        if ended.is_new or ended.outcome != "completed":
            self._bar.console.print(describe_end(ended), markup=False)
        self._bar.advance(self._row)

    def tick(self, running: int) -> None:
        self._bar.update(self._row, description=f"{running} running")
