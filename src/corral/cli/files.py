"""Records into a file: the whole file or none, in the format its name says."""

import csv
import errno
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TextIO

from corral.domain.errors import BadInput, CorralError

Records = Sequence[dict[str, Any]]

# What a spreadsheet takes for the start of a formula, the full-width forms included.
_FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")


def check_output(path: Path) -> Path:
    """The path, or BadInput where writing to it later could not work."""
    if path.suffix.lower() not in _FORMATS:
        raise BadInput(
            f"{path} does not say in which format to write",
            field="output",
            hint=f"end the file name in {', '.join(_FORMATS)}",
        )
    try:
        place = _place_of(path)
    except OSError as error:
        raise BadInput(f"{path} leads nowhere ({error.strerror})", field="output", hint="name another file") from None
    folder = place.parent
    if place.is_dir() or not folder.is_dir():
        what = f"{path} is a folder" if place.is_dir() else f"there is no folder {folder}"
        raise BadInput(what, field="output", hint="create the folder first, or name another file")
    if place.exists() and not place.is_file():
        raise BadInput(f"{path} is not a file", field="output", hint="name an ordinary file, or print with --json")
    if not os.access(folder, os.W_OK):
        raise BadInput(f"{folder} cannot be written to", field="output", hint="choose another folder")
    return path


def _place_of(path: Path) -> Path:
    """Where the file really lies: what a link leads to is written, and the link stays."""
    try:
        return path.resolve()
    except RuntimeError:  # links in a circle
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def write_records(path: Path, names: Sequence[str], records: Records) -> None:
    columns = list(dict.fromkeys([*names, *(name for record in records for name in record)]))
    with written(path, columns) as add:
        add(records)


@contextmanager
def written(path: Path, columns: Sequence[str]) -> Iterator[Callable[[Iterable[dict[str, Any]]], None]]:
    """Any number of records, a few at a time: written beside the file, which is put in place at the end.

    A reader never sees half of it, and where something goes wrong what was there before stays.
    """
    try:
        with _replaced(_place_of(path)) as file:
            writer = _FORMATS[path.suffix.lower()](file, columns)

            def add(records: Iterable[dict[str, Any]]) -> None:
                for record in records:
                    writer.add(record)

            yield add
            writer.end()
    except OSError as error:
        raise CorralError(
            f"cannot write {path}: {error.strerror or error}",
            hint="the records are stored all the same; see `corral records RUN`",
        ) from None


@contextmanager
def _replaced(path: Path) -> Iterator[TextIO]:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.chmod(_mode_for(path))
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _mode_for(path: Path) -> int:
    """As if the file had been opened in the ordinary way; `mkstemp` makes private ones."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


class _Json:
    def __init__(self, file: TextIO, _: Sequence[str]) -> None:
        self._file = file
        self._before = "[\n"

    def add(self, record: dict[str, Any]) -> None:
        text = json.dumps(record, ensure_ascii=False, indent=2).replace("\n", "\n  ")
        self._file.write(f"{self._before}  {text}")
        self._before = ",\n"

    def end(self) -> None:
        self._file.write("[]\n" if self._before == "[\n" else "\n]\n")


class _JsonLines:
    def __init__(self, file: TextIO, _: Sequence[str]) -> None:
        self._file = file

    def add(self, record: dict[str, Any]) -> None:
        self._file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def end(self) -> None:
        pass


class _Csv:
    """A column per field. Text that a spreadsheet would execute gets a leading apostrophe."""

    def __init__(self, file: TextIO, columns: Sequence[str]) -> None:
        self._columns = columns
        # With the line end of the standard; given a bare \n the writer leaves a bare \r inside a cell unquoted.
        self._writer = csv.writer(file, lineterminator="\r\n")
        self._writer.writerow([_cell(name) for name in columns])

    def add(self, record: dict[str, Any]) -> None:
        self._writer.writerow([_cell(record.get(name)) for name in self._columns])

    def end(self) -> None:
        pass


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, dict | list | bool):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        plain = value.replace("\0", "")
        return f"'{plain}" if plain.startswith(_FORMULA_STARTS) else plain
    return value


class _Writer(Protocol):
    def add(self, record: dict[str, Any]) -> None: ...

    def end(self) -> None: ...


_FORMATS: dict[str, Callable[[TextIO, Sequence[str]], _Writer]] = {
    ".json": _Json,
    ".jsonl": _JsonLines,
    ".csv": _Csv,
}
