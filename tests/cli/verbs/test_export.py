"""`corral export` and `-o`: real processes, files read back by others."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import forked
from tests.chaos.level import LEVEL
from tests.cli.command import Corral
from tests.engine.crawl.site import serve_site, tree
from tests.export import reading
from tests.export.fill import fill_crawl
from tests.export.warc_reader import read as read_warc


@pytest.fixture(scope="module")
def run_id(shared: Corral) -> str:
    shared.create()
    return fill_crawl(f"sqlite:///{shared.data}/corral.db", 60)


@pytest.fixture(scope="module")
def many(shared: Corral, run_id: str) -> str:
    return fill_crawl(f"sqlite:///{shared.data}/corral.db", 8000)


def test_every_format_by_the_name_of_the_file(shared: Corral, run_id: str) -> None:
    names = ("a.json", "a.jsonl", "a.csv", "a.parquet", "a.xlsx", "A.JSONL")
    for name in names:
        done = shared.here("export", run_id, "-o", name)
        assert (done.code, done.out) == (0, f"60 records written to {name}\n"), done.err
    files = {name: (shared.folder / name).read_bytes() for name in names}
    assert [each["n"] for each in json.loads(files["a.json"])] == list(range(60))
    assert json.loads(files["a.json"]) == reading.jsonl(files["a.jsonl"])
    assert [row["title"] for row in reading.from_csv(files["a.csv"])] == [f"={n}" for n in range(60)]
    assert [row["title"] for row in reading.parquet(files["a.parquet"])] == [f"={n}" for n in range(60)]
    assert len(reading.xlsx(files["a.xlsx"])["records"]) == 61


def test_what_it_did_and_what_it_would_do_as_json(shared: Corral, run_id: str) -> None:
    planned = shared.here("export", run_id, "-o", "b.data", "--format", "csv", "--dry-run", "--json")
    assert planned.json["records"] == 60
    assert not (shared.folder / "b.data").exists()
    done = shared.here("export", run_id, "-o", "b.data", "--format", "csv", "--json").json
    size = (shared.folder / "b.data").stat().st_size
    assert done == {"run_id": run_id, "format": "csv", "output": "b.data", "records": 60, "bytes": size}


def test_to_standard_output(shared: Corral, run_id: str) -> None:
    printed = shared("export", run_id, "--format", "jsonl", "-o", "-")
    assert (printed.code, len(printed.out.splitlines())) == (0, 60)
    assert shared.here("export", run_id, "-o", "-").code == 2
    assert shared.here("export", run_id, "-o", "-", "--format", "csv", "--json").code == 2


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (("-o", "x.doc"), 2, "does not determine the format"),
        (("-o", "no/such/x.csv"), 2, "there is no folder"),
        (("-o", "x.csv", "--format", "pdf"), 2, "pdf"),
        (("-o", "x.warc.gz"), 1, "did not keep its pages"),
        (("-o", "x.warc"), 1, "--keep-pages"),
        ((), 2, "--output"),
    ],
)
def test_what_cannot_be_written_is_said(
    shared: Corral, run_id: str, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = shared.here("export", run_id, *arguments)
    assert (done.code, said in done.err) == (code, True), done.err
    assert not list(shared.folder.glob("*x.*"))


def test_unknown_runs(shared: Corral, run_id: str) -> None:
    assert shared.here("export", "01890000-0000-7000-8000-000000000000", "-o", "x.csv").code == 1
    assert shared.here("export", "nonsense", "-o", "x.csv").code == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM] if LEVEL else [signal.SIGINT])
def test_interrupted_it_leaves_nothing_but_what_was_there(
    shared: Corral, many: str, started_forks: Callable[..., "subprocess.Popen[str]"], number: signal.Signals
) -> None:
    folder = shared.folder / f"interrupted-{number.name}"
    folder.mkdir()
    path = folder / "pages.xlsx"
    path.write_text("from before")
    exporting = started_forks(shared, "export", many, "-o", str(path))
    while not _part_of(folder):
        assert exporting.poll() is None
        time.sleep(0.01)
    exporting.send_signal(number)
    _, err = exporting.communicate(timeout=30)
    assert (exporting.returncode, "interrupted" in err) == (130, True), err
    assert [each.name for each in folder.iterdir()] == ["pages.xlsx"]
    assert path.read_text() == "from before"


def _part_of(folder: Path) -> list[Path]:
    return list(folder.glob(".pages.xlsx.*.part"))


def test_a_full_disk_is_said_and_nothing_is_left(shared: Corral, many: str) -> None:
    (shared.folder / "full").mkdir()
    command = f"ulimit -f 64; exec {sys.executable} -m corral export {many} -o full/pages.jsonl"
    given = {"cwd": shared.folder, "env": shared.environment({}), "timeout": 60}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, **given)  # type: ignore[call-overload]
    assert (done.returncode, "cannot write full/pages.jsonl: File too large" in done.stderr) == (1, True), done.stderr
    assert list((shared.folder / "full").iterdir()) == []


def test_a_crawl_into_an_archive_keeps_its_pages(corral: Corral) -> None:
    with serve_site(tree(width=3, depth=1)) as site:
        planned = corral.here("crawl", f"{site.url}/", "--dry-run", "--json").json["plan"]
        also = corral.here("crawl", f"{site.url}/", "--keep-pages", "--dry-run", "--json").json["plan"]
        assert (planned["keep_pages"], also["keep_pages"]) == (False, True)
        done = corral("crawl", f"{site.url}/", "-o", "pages.warc.gz")
        assert (done.code, done.out) == (0, "4 pages written to pages.warc.gz\n"), done.err
        records = read_warc((corral.folder / "pages.warc.gz").read_bytes())
        assert {url for kind, url, _, _ in records if kind == "response"} == {site.url + path for path in site.pages}
    [run] = corral.here("run", "list", "--json").json
    assert corral.here("export", run["id"], "-o", "pages.parquet").code == 0
    assert len(reading.parquet((corral.folder / "pages.parquet").read_bytes())) == 4
    again = corral.here("export", run["id"], "-o", "plain.warc", "--json")
    assert again.json["records"] == 4
    assert (corral.folder / "plain.warc").read_bytes().startswith(b"WARC/1.1\r\n")


def test_a_person_sees_how_far_it_is(shared: Corral, many: str) -> None:
    ours, theirs = pty.openpty()
    command = [*forked.command(), "export", many, "-o", "seen.csv"]
    variables = {**shared.environment({}), "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        command, cwd=shared.folder, env=variables, stdout=subprocess.DEVNULL, stderr=theirs
    ) as process:
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):  # what a terminal says when nobody is at its other end
            while piece := os.read(ours, 65536):
                seen += piece
    os.close(ours)
    assert process.returncode == 0
    assert b"/16000" in seen  # for its columns, everything is read twice
