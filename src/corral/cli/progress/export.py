"""Progress of an export on standard error: a bar on a terminal, a line every few seconds in a pipe."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager

from corral.cli.render import console
from corral.export.stream import ExportProgress

_POLL_S = 0.2
_LINE_EVERY_S = 5.0


@asynccontextmanager
async def show_progress(progress: ExportProgress, total: int, *, reads_twice: bool) -> AsyncIterator[None]:
    """Show progress inside the block. Formats with columns read everything twice, first to find the columns."""
    with ExitStack() as stack:
        show = _bar(stack, 2 * total if reads_twice else total) if sys.stderr.isatty() else _lines(total)
        ticking = asyncio.create_task(_show_repeatedly(progress, show), name="progress")
        try:
            yield
        finally:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)


async def _show_repeatedly(progress: ExportProgress, show: Callable[[ExportProgress], None]) -> None:
    while True:
        await asyncio.sleep(_POLL_S)
        show(progress)


def _bar(stack: ExitStack, total: int) -> Callable[[ExportProgress], None]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = stack.enter_context(Bar(*columns, console=console(stderr=True), transient=True))
    task = bar.add_task("exporting", total=total)

    def show(progress: ExportProgress) -> None:
        what = "writing" if progress.written or not progress.seen else "finding the columns"
        bar.update(task, completed=progress.seen + progress.written, description=what)

    return show


def _lines(total: int) -> Callable[[ExportProgress], None]:
    due = time.monotonic() + _LINE_EVERY_S

    def show(progress: ExportProgress) -> None:
        nonlocal due
        if time.monotonic() < due:
            return
        due = time.monotonic() + _LINE_EVERY_S
        scanned = f"scanned {progress.seen:,}" if progress.seen and not progress.written else ""
        print(scanned or f"wrote {progress.written:,} of {total:,}", file=sys.stderr, flush=True)

    return show
