"""Write records to a file, completely or not at all, in the format of its name."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corral.domain.errors import BadInput, CorralError
from corral.export.columns import Columns
from corral.export.file import real_path, replace_file
from corral.export.formats import SUFFIXES, Format, format_of
from corral.export.outbox import Outbox
from corral.export.stream import Export, ExportProgress, ExportStore, chunks, writer_for

Records = Sequence[dict[str, Any]]

_STANDARD_OUTPUT = Path("-")


def is_standard_output(path: Path | None) -> bool:
    return path == _STANDARD_OUTPUT


def check_destination(output: Path | None, *, as_json: bool, keeps_pages: bool = True) -> Path | None:
    """Check where records go: a file whose name determines the format, or standard output as JSON lines."""

    if not is_standard_output(output):
        return None if output is None else check_output(output, keeps_pages=keeps_pages)
    if as_json:
        raise BadInput("--json and -o - would both print", field="output", hint="write to a file, or leave out --json")
    return output


def check_output(path: Path, kind: Format | None = None, *, keeps_pages: bool = False) -> Path:
    """Return the path; raise BadInput if writing to it later would fail. `kind` is the value of --format."""
    suffixes = [each for each in SUFFIXES if keeps_pages or ".warc" not in each]
    wanted = kind or format_of(path)
    if wanted is None or (wanted is Format.WARC and not keeps_pages):
        raise BadInput(
            f"the name of {path} does not determine the format",
            field="output",
            hint=f"end the file name in {', '.join(suffixes)}",
        )
    try:
        target = real_path(path)
    except OSError as error:
        raise BadInput(f"cannot resolve {path} ({error.strerror})", field="output", hint="name another file") from None
    folder = target.parent
    if target.is_dir() or not folder.is_dir():
        what = f"{path} is a folder" if target.is_dir() else f"there is no folder {folder}"
        raise BadInput(what, field="output", hint="create the folder first, or name another file")
    if target.exists() and not target.is_file():
        raise BadInput(f"{path} is not a file", field="output", hint="name an ordinary file, or print with --json")
    if not os.access(folder, os.W_OK):
        raise BadInput(f"{folder} cannot be written to", field="output", hint="choose another folder")
    return path


def is_archive(path: Path | None) -> bool:
    return path is not None and format_of(path) is Format.WARC


def write_records(path: Path, names: Sequence[str], records: Records) -> None:
    """Write records that are in memory."""

    kind = format_of(path)
    assert kind is not None
    columns, out = Columns(names), Outbox()
    columns.scan(records)
    writer = writer_for(kind, out, columns)
    writer.add(records)
    writer.end()
    with _report_write_errors(path), replace_file(path) as file:
        file.write(out.take())


async def write_export(path: Path, store: ExportStore, export: Export, progress: ExportProgress) -> None:
    """Write any number of records, a few at a time."""

    with _report_write_errors(path), replace_file(path) as file:
        async for chunk in chunks(store, export, progress):
            file.write(chunk)


@contextmanager
def _report_write_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CorralError(
            f"cannot write {path}: {error.strerror or error}",
            hint="the records are stored nevertheless; `corral export RUN -o FILE` writes them",
        ) from None
