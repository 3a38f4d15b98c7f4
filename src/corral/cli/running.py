"""Run the coroutine of a verb and end with its exit code."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

import typer

from corral.cli import exits


def finish(work: Coroutine[Any, Any, int]) -> NoReturn:
    """Run a short verb. Ctrl-C unwinds it like any other exception."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts background jobs with SIGINT ignored, and asyncio keeps it ignored: `events -f` would never end.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    code = asyncio.run(work)
    sys.stdout.flush()  # while a closed pipe can still be reported
    raise typer.Exit(code)


def stops() -> tuple[signal.Signals, ...]:
    """Return the signals that stop the process. SIGHUP (a closed terminal) is one unless it is ignored (nohup)."""
    handles_hangup = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *((signal.SIGHUP,) if handles_hangup else ()))


# Time after the grace period to store the outcomes: while the storage answers, and while it does not.
_LAST_WRITES_S = 10.0
_NO_WRITES_S = 1.8


class Stop:
    """The request to stop, by signal. The first signal sets it; each further signal calls `on_repeat`.

    With a grace period, the process exits soon after it even if something hangs: expired leases requeue the rest.
    """

    def __init__(self, on_repeat: Callable[[], None] = lambda: None, *, grace_s: float | None = None) -> None:
        self.on_repeat = on_repeat
        self.signal: signal.Signals | None = None
        self._requested = asyncio.Event()
        self._grace_s = grace_s
        self._after_s = _NO_WRITES_S
        self._end: threading.Timer | None = None

    @property
    def is_requested(self) -> bool:
        return self.signal is not None

    async def wait(self) -> None:
        await self._requested.wait()

    @property
    def exit_code(self) -> int:
        return exits.INTERRUPTED if self.signal is signal.SIGINT else exits.DONE

    def receive(self, number: signal.Signals) -> None:
        if self.signal is None:
            self.signal = number
            self._requested.set()
            self._end_within(self._grace_s)
        else:
            self.on_repeat()
            self._end_within(0.0)

    def extend_deadline(self) -> None:
        """Extend the deadline after the storage has answered, so that unfinished runs can be requeued."""
        self._after_s = _LAST_WRITES_S
        self._end_within(self._grace_s)

    def _end_within(self, seconds: float | None) -> None:
        if seconds is None or self._grace_s is None:
            return
        if self._end is not None:
            self._end.cancel()
        # A thread: the event loop, or its closing, may be what hangs.
        self._end = threading.Timer(seconds + self._after_s, _leave)
        self._end.daemon = True
        self._end.start()

    def listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number in stops():
            loop.add_signal_handler(number, self.receive, number)


def _leave() -> None:
    exits.complain(
        "stopped, but not every outcome could be stored: the storage does not answer",
        "nothing to do: unfinished runs are requeued once their leases expire",
    )
    os._exit(exits.FAILED)


async def first_of(work: Coroutine[Any, Any, None], stop: Stop) -> bool:
    """Run the work until it is done or a stop is requested; return whether it was done."""
    doing = asyncio.ensure_future(work)
    stop_request = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({doing, stop_request}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            return False
        await doing  # re-raise its exception
        return True
    finally:
        for task in (doing, stop_request):
            task.cancel()
        await asyncio.gather(doing, stop_request, return_exceptions=True)
