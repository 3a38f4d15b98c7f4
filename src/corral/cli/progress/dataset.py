"""Progress of a dataset build on standard error: a bar for the step on a terminal, lines in a pipe."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from corral.cli.render import console

_LINE_EVERY_S = 5.0


class DatasetProgress(Protocol):
    def on_progress(self, progress: dict[str, Any]) -> None: ...


@contextmanager
def show_progress() -> Iterator[DatasetProgress]:
    if not sys.stderr.isatty():
        yield _StepLines()
        return
    with console(stderr=True).status("starting", spinner="dots") as status:
        yield _LiveStep(status)


def describe_progress(progress: dict[str, Any]) -> str:
    """Return the progress as text, for example `2/8 download: 120 of 300 images, 4 s left`."""
    text = f"{progress['step_number']}/{progress['step_count']} {progress['step'].replace('_', ' ')}"
    done, total, eta_s = progress["done"], progress["total"], progress.get("eta_s")
    if total:
        text += f": {done:,} of {total:,} images" if total > done else f": {done:,} images"
    return f"{text}, {eta_s:.0f} s left" if eta_s is not None else text


class _StepLines:
    def __init__(self) -> None:
        self._step = ""
        self._next = 0.0

    def on_progress(self, progress: dict[str, Any]) -> None:
        if "step" not in progress:
            return
        now = time.monotonic()
        if progress["step"] != self._step or now >= self._next:
            self._step, self._next = progress["step"], now + _LINE_EVERY_S
            print(describe_progress(progress), file=sys.stderr, flush=True)


class _LiveStep:
    def __init__(self, status: Any) -> None:
        self._status = status

    def on_progress(self, progress: dict[str, Any]) -> None:
        if "step" in progress:
            self._status.update(describe_progress(progress))
