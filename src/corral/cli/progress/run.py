"""Progress of a run on standard error: one live line on a terminal, a line per event in a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from corral.cli.progress import history
from corral.cli.render import console, printable
from corral.domain.runs.event import Event, EventKind


class RunProgress(Protocol):
    def on_event(self, event: Event) -> None: ...

    def tick(self) -> None:
        """Update the elapsed time."""
        ...


@contextmanager
def show_progress(max_attempts: int) -> Iterator[RunProgress]:
    if not sys.stderr.isatty():
        yield _Lines()
        return
    terminal = console(stderr=True)
    with terminal.status("starting", spinner="dots") as status:
        yield _LiveLine(status, max_attempts)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show a spinner on a terminal during a step that has no progress to report."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.text import Text

    with console(stderr=True).status(Text(printable(what)), spinner="dots"):
        yield


class _Lines:
    def on_event(self, event: Event) -> None:
        print(history.line(event), file=sys.stderr, flush=True)

    def tick(self) -> None:
        pass


class _LiveLine:
    def __init__(self, status: Any, max_attempts: int) -> None:
        self._status = status
        self._max_attempts = max_attempts
        self._began = datetime.now(UTC)
        self._state, self._attempt, self._strategy = "queued", 1, ""
        self._last = ""
        self._due: datetime | None = None

    def on_event(self, event: Event) -> None:
        meta = event.meta
        self._attempt = meta.get("attempt", self._attempt)
        self._strategy = meta.get("to") or meta.get("strategy") or meta.get("resolved_strategy") or self._strategy
        self._last = event.message
        self._due = None
        if event.kind is EventKind.STARTED:
            self._state = "running"
        elif event.kind is EventKind.RETRY_SCHEDULED:
            self._state = "waiting"
            self._last = f"{event.message} after {meta.get('failure_code')}"
            self._due = datetime.fromisoformat(meta["due_at"]) if "due_at" in meta else None
        elif event.kind is EventKind.HOST_DEFERRED:
            self._state = "waiting"
            self._last = f"{event.message} ({meta.get('waiting_reason')})"
            self._due = event.created_at + timedelta(seconds=meta.get("wait_s", 0.0))
        self.tick()

    def tick(self) -> None:
        from rich.text import Text

        now = datetime.now(UTC)
        parts = [self._state, f"attempt {self._attempt}/{self._max_attempts}", self._strategy, self._last]
        if self._due is not None:
            parts.append(f"next try in {max(0.0, (self._due - now).total_seconds()):.0f} s")
        text = Text("  ·  ".join(part for part in parts if part))
        text.append(f"  {(now - self._began).total_seconds():.1f} s", style="bright_black")
        self._status.update(text)
