"""The live view of a campaign on standard error: a table on a terminal, a line every few seconds in a pipe."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from corral.cli.render import TONES, console, printable

_LINE_EVERY_S = 5.0
COLUMNS = ("site", "status", "done", "failed", "pending", "%", "errors", "health", "waits for")


class CampaignView(Protocol):
    def update(self, progress: dict[str, Any]) -> None: ...


@contextmanager
def show_campaign(*, is_quiet: bool = False) -> Iterator[CampaignView]:
    if is_quiet:
        yield _Quiet()
        return
    if not sys.stderr.isatty():
        lines = _Lines()
        yield lines
        lines.flush()
        return
    from rich.live import Live

    with Live(console=console(stderr=True), refresh_per_second=4) as live:
        yield _Table(live)


def site_cells(site: dict[str, Any]) -> tuple[str, ...]:
    """Return one row of the view."""
    return (
        printable(site["site"], 60),
        site["status"],
        str(site.get("done", "")),
        str(site.get("failed", "")),
        str(site.get("pending", "")),
        f"{site.get('percent', 100.0):.0f}",
        f"{site.get('error_rate', 0.0):.1%}",
        site.get("health", ""),
        ", ".join(site["waits_for"]),
    )


def describe(progress: dict[str, Any]) -> str:
    """Return the state of the campaign in one line."""
    states = ", ".join(f"{count} {status}" for status, count in sorted(progress["by_status"].items()))
    return (
        f"{progress['status']}: {progress['done']} of {progress['total']} pages, {progress['failed']} failed, "
        f"{progress['percent']:.0f} %  ·  sites: {states}"
    )


class _Quiet:
    def update(self, progress: dict[str, Any]) -> None: ...


class _Lines:
    def __init__(self) -> None:
        self._next = 0.0
        self._unprinted: dict[str, Any] | None = None

    def update(self, progress: dict[str, Any]) -> None:
        self._unprinted = progress
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _LINE_EVERY_S
            print(describe(progress), file=sys.stderr, flush=True)
            self._unprinted = None

    def flush(self) -> None:
        """Print the final state if it has not been printed yet."""
        if self._unprinted is not None:
            print(describe(self._unprinted), file=sys.stderr, flush=True)


class _Table:
    def __init__(self, live: Any) -> None:
        self._live = live

    def update(self, progress: dict[str, Any]) -> None:
        from rich.table import Table
        from rich.text import Text

        table = Table(*COLUMNS, title=f"campaign {progress['campaign_id']}", caption=describe(progress), box=None)
        for site in progress["sites"]:
            cells = [Text(cell) for cell in site_cells(site)]
            cells[1].stylize(TONES.get(site["status"], ""))
            table.add_row(*cells)
        self._live.update(table)
