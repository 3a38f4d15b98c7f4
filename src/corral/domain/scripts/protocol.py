"""Records on stdout, and the result protocol: one JSON object per line on a separate descriptor."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from corral.domain.coverage.absence import read_absences

MAX_LINE_BYTES = 1024 * 1024
# Maximum size of one JSON document that a script prints over many lines.
MAX_DOCUMENT_BYTES = 8 * 1024 * 1024
_MAX_PROBLEMS = 5
_MAX_ABSENT = 10_000
# The failure codes that a script may report.
CLAIMED_CODES = frozenset({"blocked", "rate_limited", "timeout", "network", "bad_response", "extraction"})


def parse_object(line: bytes) -> dict[str, Any]:
    """Parse a JSON object that both databases can store; raise ValueError for anything else."""
    value = orjson.loads(line)
    if not isinstance(value, dict):
        raise ValueError("is no JSON object")
    return value


@dataclass(slots=True)
class RecordLines:
    """The records and problems in the lines of a script. Counts continue beyond the stored entries."""

    max_records: int
    records: list[dict[str, Any]] = field(default_factory=list)
    broken: int = 0
    too_long: int = 0
    problems: list[str] = field(default_factory=list)
    is_full: bool = False

    def add(self, record: dict[str, Any]) -> None:
        if len(self.records) >= self.max_records:
            self.is_full = True
        else:
            self.records.append(record)

    def note_broken(self, number: int, why: str) -> None:
        self.broken += 1
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(f"line {number}: {why}"[:200])


class StdoutRecords:
    """JSON lines among log lines: only lines that begin with `{` are records."""

    def __init__(self, lines: RecordLines) -> None:
        self._lines = lines
        self._number = 0
        self._document: bytearray | None = bytearray()

    def read_line(self, line: bytes, *, is_cut: bool = False) -> None:
        self._number += 1
        self._keep_document(line)
        text = line.strip()
        if is_cut:
            self._lines.too_long += text.startswith(b"{")
        elif text.startswith(b"{"):
            try:
                self._lines.add(parse_object(text))
            except (ValueError, RecursionError) as error:
                self._lines.note_broken(self._number, str(error))

    def _keep_document(self, line: bytes) -> None:
        """Keep the text from the start while it may still be one document."""
        if self._document is None:
            return
        is_first = not self._document and bool(line.strip())
        is_other = is_first and not line.lstrip().startswith((b"{", b"["))
        if is_other or len(self._document) + len(line) > MAX_DOCUMENT_BYTES:
            self._document = None
        else:
            self._document += line

    def finish(self) -> None:
        """Read one document over many lines, as `curl` prints it, as records: an object, or an array of objects."""
        if not self._document or self._lines.records:
            return
        try:
            document = orjson.loads(bytes(self._document))
        except ValueError:
            return
        rows = document if isinstance(document, list) else [document]
        if all(isinstance(row, dict) for row in rows):
            self._lines.broken, self._lines.problems = 0, []
            for row in rows:
                self._lines.add(row)


@dataclass(slots=True)
class ScriptMessages:
    """The messages of a script over the result protocol."""

    lines: RecordLines
    on_progress: Callable[[dict[str, Any]], None] = lambda _: None
    is_spoken: bool = False
    done_records: int | None = None
    error: dict[str, str] | None = None
    sent: int = 0
    absent: list[dict[str, Any]] = field(default_factory=list)
    fault: str | None = None  # the first line that breaks the protocol
    _number: int = 0

    def read_line(self, line: bytes, *, is_cut: bool = False) -> None:
        self._number += 1
        if not line.strip():
            return
        self.is_spoken = True
        if is_cut:
            self._break(f"is longer than {MAX_LINE_BYTES} bytes")
            self.lines.too_long += 1
            return
        try:
            message = parse_object(line)
        except (ValueError, RecursionError) as error:
            self._break(str(error))
            return
        for name, value in message.items():
            self._take(name, value)

    def _take(self, name: str, value: Any) -> None:
        if self.done_records is not None:
            self._break(f"{name!r} after the closing record")
        elif name == "absent":
            self._take_absent(value)
        elif not isinstance(value, dict) or name not in ("record", "progress", "done", "error"):
            self._break(f"{name[:40]!r} is not one of record, absent, progress, done and error with an object")
        elif name == "record":
            self.sent += 1
            self.lines.add(value)
        elif name == "progress":
            self._take_progress(value)
        elif name == "done":
            self._take_end(value)
        else:
            self.error = {key: str(value.get(key) or "")[:2000] for key in ("message", "code")}

    def _take_absent(self, value: Any) -> None:
        """Take keys that do not exist: see `domain.coverage.absence`."""
        notes, malformed = read_absences([{"absent": value}])
        if malformed:
            self._break("'absent' without a `key`")
        self.absent += [{"key": note.key, **note.evidence} for note in notes[: _MAX_ABSENT - len(self.absent)]]

    def _take_progress(self, value: dict[str, Any]) -> None:
        counts = {key: value[key] for key in ("done", "total", "failed") if _is_count(value.get(key))}
        if "done" in counts:
            self.on_progress(counts)
        else:
            self._break("'progress' without a count `done`")

    def _take_end(self, value: dict[str, Any]) -> None:
        if _is_count(value.get("records")):
            self.done_records = value["records"]
        else:
            self._break("'done' without a count `records`")

    def _break(self, why: str) -> None:
        self.fault = self.fault or f"line {self._number} of the result protocol: {why}"[:300]

    @property
    def problem(self) -> str | None:
        """Return why a script that speaks the protocol has not succeeded although its exit code is 0, or None."""
        if not self.is_spoken or self.error is not None:
            return None
        if self.fault is not None:
            return self.fault
        if self.done_records is None:
            return 'the script sent no closing record ({"done": {"records": N}})'
        if self.done_records != self.sent:
            return f"the closing record counts {self.done_records} records, {self.sent} were sent"
        return None


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def read_records_file(data: bytes, path: str, lines: RecordLines) -> None:
    """Read the records of a file by its suffix: CSV, one JSON document, or JSON lines."""
    if path.endswith(".csv"):
        _read_csv(data, lines)
    elif path.endswith(".json") and data.lstrip()[:1] == b"[":
        _read_array(data, lines)
    else:
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                _read_object(line, number, lines)


def _read_object(line: bytes, number: int, lines: RecordLines) -> None:
    if len(line) > MAX_LINE_BYTES:
        lines.too_long += 1
        return
    try:
        lines.add(parse_object(line))
    except (ValueError, RecursionError) as error:
        lines.note_broken(number, str(error))


def _read_array(data: bytes, lines: RecordLines) -> None:
    try:
        rows = orjson.loads(data)
    except ValueError as error:
        lines.note_broken(1, str(error))
        return
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict):
            lines.add(row)
        else:
            lines.note_broken(number, "is no JSON object")


def _read_csv(data: bytes, lines: RecordLines) -> None:
    import csv  # noqa: PLC0415 - few scripts write it
    import io  # noqa: PLC0415

    reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig", "replace"), newline=""))
    try:
        for number, row in enumerate(reader, 2):
            if None in row or None in row.values():
                lines.note_broken(number, "has another number of columns than the header")
            else:
                lines.add(dict(row))
    except csv.Error as error:
        lines.note_broken(reader.line_num, str(error))
