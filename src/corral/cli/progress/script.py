"""What a script prints, passed through, and its progress on standard error."""

import sys
from types import TracebackType
from typing import Any, Self

from corral.cli.render import console


class ScriptDisplay:
    """On a terminal the progress is one live line below the output; in a pipe it is a line per change."""

    def __init__(self, *, passes_stdout: bool) -> None:
        self._passes_stdout = passes_stdout
        self._status: Any = None
        self._is_shown = False
        self._at_line_start = True
        self._text = ""

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._status = console(stderr=True).status("", spinner="dots")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hide()

    def on_output(self, stream: str, text: str) -> None:
        """With --json, standard output belongs to the answer: what the script prints goes to standard error."""
        self._hide()
        target = sys.stdout if stream == "stdout" and self._passes_stdout else sys.stderr
        target.write(text)
        target.flush()
        self._at_line_start = text.endswith("\n")

    def on_progress(self, told: dict[str, Any]) -> None:
        text = describe_progress(told)
        if text == self._text:
            return
        self._text = text
        if self._status is None:
            print(f"corral: {text}", file=sys.stderr, flush=True)
        else:
            self.tick()

    def tick(self) -> None:
        """Time has passed: show the line again, where the script has finished its own."""
        if self._status is not None and self._text and self._at_line_start:
            self._status.update(self._text)
            self._status.start()
            self._is_shown = True

    def _hide(self) -> None:
        if self._is_shown:
            self._status.stop()
            self._is_shown = False


def describe_progress(told: dict[str, Any]) -> str:
    """`3 of 10 done (30 %), 5 records`."""
    parts = []
    counts = told.get("progress")
    if isinstance(counts, dict) and "done" in counts:
        done, total = counts["done"], counts.get("total")
        parts.append(f"{done} of {total} done ({100 * done // total} %)" if total else f"{done} done")
    if told.get("records"):
        parts.append(count_records(told["records"]))
    return ", ".join(parts)


def count_records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"
