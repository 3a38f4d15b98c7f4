"""Records into a file: the whole file or none, in the format its name says."""

import csv
import errno
import io
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

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
    """Write beside the file and put it in place at the end: a reader never sees half of it."""
    content = _FORMATS[path.suffix.lower()](names, records).encode("utf-8", "backslashreplace")
    try:
        _replace(_place_of(path), content)
    except OSError as error:
        raise CorralError(
            f"cannot write {path}: {error.strerror or error}",
            hint="the records are stored all the same; see `corral records RUN`",
        ) from None


def _replace(path: Path, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
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


def _as_json(_: Sequence[str], records: Records) -> str:
    return json.dumps(list(records), ensure_ascii=False, indent=2) + "\n"


def _as_jsonl(_: Sequence[str], records: Records) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _as_csv(names: Sequence[str], records: Records) -> str:
    """A column per asked field. Text that a spreadsheet would execute gets a leading apostrophe."""
    columns = list(dict.fromkeys([*names, *(name for record in records for name in record)]))
    text = io.StringIO(newline="")
    # With the line end of the standard; given a bare \n the writer leaves a bare \r inside a cell unquoted.
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow([_cell(name) for name in columns])
    for record in records:
        writer.writerow([_cell(record.get(name)) for name in columns])
    return text.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, dict | list | bool):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        plain = value.replace("\0", "")
        return f"'{plain}" if plain.startswith(_FORMULA_STARTS) else plain
    return value


_FORMATS: dict[str, Callable[[Sequence[str], Records], str]] = {
    ".json": _as_json,
    ".jsonl": _as_jsonl,
    ".csv": _as_csv,
}
