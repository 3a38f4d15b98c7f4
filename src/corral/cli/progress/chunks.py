"""Progress by chunks on standard error: a bar on a terminal, a line per change in a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from corral.cli.render import console


class ChunkProgress(Protocol):
    def update(self, done: int, total: int) -> None: ...


@contextmanager
def show_chunks(*, is_quiet: bool) -> Iterator[ChunkProgress]:
    if is_quiet:
        yield _Quiet()
        return
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True)) as bar:
        yield _Bar(bar)


class _Quiet:
    def update(self, done: int, total: int) -> None:
        pass


class _Lines:
    def __init__(self) -> None:
        self._last = (0, 0)

    def update(self, done: int, total: int) -> None:
        if (done, total) != self._last:
            self._last = (done, total)
            print(f"{done} of {total} chunks", file=sys.stderr, flush=True)


class _Bar:
    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._task = bar.add_task("checking", total=None)

    def update(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total or None)
