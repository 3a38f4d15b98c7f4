"""`corral test`: read recorded pages again, without a network, and compare the output."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from corral.cli import exits, render
from corral.cli.options import AsJson
from corral.cli.running import finish
from corral.cli.verbs.recording.folder import (
    Recording,
    UnreadableRecording,
    find_recordings,
    read_recording,
    write_expected,
)
from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.extract.recording import Difference, RecordedPage, compare_outputs, output_of
from corral.fetch.parsing.pool import ParsePool
from corral.log import configure_logging
from corral.settings import Settings, load_settings

_MAX_VALUE_CHARS = 300


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    dir: Annotated[Path, typer.Argument(metavar="[DIR]", help="Folder of the recordings, or one of them.")] = Path(
        "recordings"
    )
    update: Annotated[bool, typer.Option("--update", help="Expect the present output from now on.")] = False
    as_json: AsJson = False


@dataclass(frozen=True, slots=True)
class _Result:
    name: str
    state: str  # passed, failed, updated or unreadable
    differences: tuple[Difference, ...] = ()
    problem: str | None = None

    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = {"name": self.name, "state": self.state}
        if self.differences:
            document["differences"] = [each.document() for each in self.differences]
        return document if self.problem is None else {**document, "problem": self.problem}


def test(options: ReplayOptions) -> None:
    """Read recorded pages again, offline, and compare the output.

    Pages are read at the time of their recording, by the reader of runs.
    Exit code: 0 all as expected, 1 some differ, 78 a recording cannot be read.

    \b
    corral test
    corral test recordings/shop --update
    """
    settings = load_settings()
    if not options.dir.is_dir():
        hint = "record a page with `corral record URL --fields title`"
        raise BadInput(f"there is no folder {options.dir}", field="dir", hint=hint)
    folders = find_recordings(options.dir)
    if not folders:
        raise BadInput(f"{options.dir} has no recordings", field="dir", hint="record a page with `corral record URL`")
    finish(_test(settings, folders, options))


async def read_offline(
    settings: Settings, pages: Sequence[tuple[RecordedPage, tuple[FieldSpec, ...]]]
) -> list[dict[str, Any]]:
    """Read recorded pages in a killable process, with the limits of runs."""
    pool = ParsePool(max_value_chars=settings.max_value_chars, max_links=settings.max_page_links)
    try:
        return [output_of(await pool.read(page.to_request(fields))) for page, fields in pages]
    finally:
        await pool.close()


async def _test(settings: Settings, folders: list[Path], options: ReplayOptions) -> int:
    configure_logging("error")
    opened = [_open(folder) for folder in folders]
    readable = [each for each in opened if isinstance(each, Recording)]
    outputs = iter(await read_offline(settings, [(each.page, each.fields) for each in readable]))
    results = [
        _compare(each, next(outputs), options)
        if isinstance(each, Recording)
        else _Result(str(folder), "unreadable", (), each)
        for folder, each in zip(folders, opened, strict=True)
    ]
    _report(results, as_json=options.as_json)
    states = {each.state for each in results}
    if "unreadable" in states:
        return exits.BAD_CONFIGURATION
    return exits.FAILED if "failed" in states else exits.DONE


def _open(folder: Path) -> Recording | str:
    try:
        return read_recording(folder)
    except UnreadableRecording as problem:
        return str(problem)


def _compare(recording: Recording, output: dict[str, Any], options: ReplayOptions) -> _Result:
    differences = tuple(compare_outputs(recording.expected, output))
    name = str(recording.folder)
    if not differences:
        return _Result(name, "passed")
    if options.update:
        write_expected(recording.folder, output)
        return _Result(name, "updated", differences)
    return _Result(name, "failed", differences)


def _report(results: Sequence[_Result], *, as_json: bool) -> None:
    counts = {
        state: sum(each.state == state for each in results) for state in ("passed", "failed", "updated", "unreadable")
    }
    if as_json:
        render.print_json({"recordings": [each.document() for each in results], "counts": counts})
        return
    for result in results:
        print(f"{result.state:<10}  {render.printable(result.name)}")
        if result.problem is not None:
            print(f"  {render.printable(result.problem)}")
        for difference in result.differences:
            print(f"  {render.printable(difference.path)}")
            print(f"    expected  {_show(difference.expected)}")
            print(f"    actual    {_show(difference.actual)}")
    print(", ".join(f"{count} {state}" for state, count in counts.items() if count))


def _show(value: Any) -> str:
    return render.printable(json.dumps(value, ensure_ascii=False), _MAX_VALUE_CHARS)
