"""The output of a script, passed through, and its progress on standard error."""

import sys
from types import TracebackType
from typing import Any, Self

from corral.cli.render import console


class ScriptDisplay:
    """On a terminal the progress is one live line below the output; in a pipe it is a line per change."""

    def __init__(self, *, passes_stdout: bool) -> None:
        self._passes_stdout = passes_stdout
        self._status: Any = None
        self._is_visible = False
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
        """Pass the output through. With --json it goes to standard error, because standard output is for the JSON."""
        self._hide()
        target = sys.stdout if stream == "stdout" and self._passes_stdout else sys.stderr
        target.write(text)
        target.flush()
        self._at_line_start = text.endswith("\n")

    def on_progress(self, report: dict[str, Any]) -> None:
        text = describe_progress(report)
        if text == self._text:
            return
        self._text = text
        if self._status is None:
            print(f"corral: {text}", file=sys.stderr, flush=True)
        else:
            self.tick()

    def tick(self) -> None:
        """Show the progress line again, unless the script is in the middle of a line."""
        if self._status is not None and self._text and self._at_line_start:
            self._status.update(self._text)
            self._status.start()
            self._is_visible = True

    def _hide(self) -> None:
        if self._is_visible:
            self._status.stop()
            self._is_visible = False


def describe_progress(report: dict[str, Any]) -> str:
    """Return the progress as text, for example `3 of 10 done (30 %), 5 records`."""
    parts = []
    counts = report.get("progress")
    if isinstance(counts, dict) and "done" in counts:
        done, total = counts["done"], counts.get("total")
        parts.append(f"{done} of {total} done ({100 * done // total} %)" if total else f"{done} done")
    if report.get("records"):
        parts.append(count_records(report["records"]))
    return ", ".join(parts)


def count_records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"
