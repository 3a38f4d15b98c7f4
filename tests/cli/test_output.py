import csv
import json
from pathlib import Path
from typing import Any

import pytest

from corral.cli import files, render
from corral.domain.errors import CorralError


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_a_cell_that_a_spreadsheet_would_execute_gets_an_apostrophe(tmp_path: Path, start: str) -> None:
    path = tmp_path / "records.csv"
    records = [{"formula": f"{start}cmd()", "number": -5, "list": ["a", 'b"c']}]

    files.write_records(path, ["formula", "number", "list"], records)

    with path.open(newline="") as file:
        assert list(csv.reader(file)) == [["formula", "number", "list"], [f"'{start}cmd()", "-5", '["a","b\\"c"]']]


def test_jsonl_and_json_keep_every_character(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [{"title": '=1+1\n"é\u2028', "none": None}, {"title": ""}]

    files.write_records(tmp_path / "a.jsonl", ["title"], records)
    files.write_records(tmp_path / "a.json", ["title"], records)

    lines = (tmp_path / "a.jsonl").read_text().split("\n")
    assert [json.loads(line) for line in lines if line] == records
    assert json.loads((tmp_path / "a.json").read_text()) == records


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "records.json"
    path.write_text("from before")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(CorralError, match="No space left"):
        files.write_records(path, ["a"], [{"a": 1}])

    assert [each.name for each in tmp_path.iterdir()] == ["records.json"]
    assert path.read_text() == "from before"


def test_what_a_page_says_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "a\x1b[2Jb\x9bc\u202ed\r\ne"

    render.print_table(("title",), [[evil]])
    render.print_properties({"title": evil})
    render.print_json({"title": evil})

    out = capsys.readouterr().out
    assert not set("\x1b\x9b\u202e\r") & set(out)
    assert json.loads(out[out.index("{") :]) == {"title": evil}
