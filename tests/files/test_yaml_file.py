"""YAML files are read up to a size; every problem names the file and the line."""

from datetime import date
from pathlib import Path

import pytest

from corral.domain.errors import BadConfiguration
from corral.files.yaml_file import read_marked_yaml, read_yaml, to_plain

MAX = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.yaml"


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_document_is_returned_and_an_empty_file_is_none(path: Path) -> None:
    assert read_yaml(write(path, "a: [1, ü]\n"), MAX) == {"a": [1, "ü"]}
    assert read_yaml(write(path, '{"json": true}'), MAX) == {"json": True}
    assert read_yaml(write(path, "# nothing\n"), MAX) is None
    assert read_marked_yaml(path, MAX) == (None, {}, [])


@pytest.mark.parametrize(
    "text, problem",
    [
        ("a: 1\nb: [\n", "a.yaml: line 3: is no YAML: expected the node content, but found '<stream end>'"),
        ("a: !!python/name:os.system\n", "a.yaml: line 1: is no YAML: could not determine a constructor"),
        ("a: \0", "a.yaml: is no YAML: unacceptable character #x0000"),
        (b"a: \xff", "a.yaml: is no YAML: 'utf-8' codec can't decode byte 0xff"),
        ("a: 2024-13-01\n", "a.yaml: is no YAML: month must be in 1..12"),
        ("[" * MAX, "a.yaml: is no YAML: maximum recursion depth exceeded"),
        ("a" * (MAX + 1), "a.yaml: is larger than 4 KiB; split it"),
    ],
    ids=["syntax", "tag", "character", "encoding", "day", "depth", "size"],
)
def test_a_problem_names_the_file_and_the_line(path: Path, text: str | bytes, problem: str) -> None:
    with pytest.raises(BadConfiguration) as refused:
        read_yaml(write(path, text), MAX, size_hint="; split it")
    [told] = refused.value.problems
    assert told.startswith(f"{path.parent}/{problem}")


def test_large_limits_are_named_in_mebibytes(path: Path) -> None:
    with pytest.raises(BadConfiguration, match=r"is larger than 1 MiB$"):
        read_yaml(write(path, "a" * (2**20 + 1)), 2**20)


def test_only_a_missing_file_is_left_to_the_caller(path: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_yaml(path, MAX)
    with pytest.raises(BadConfiguration, match="cannot be read: Is a directory"):
        read_yaml(tmp_path, MAX)


def test_values_have_lines_and_duplicate_keys_are_listed(path: Path) -> None:
    marked = read_marked_yaml(write(path, "a: 1\nb:\n  c: 2\n  c: 3\nd:\n- x\n- {e: 1, e: 2}\n"), MAX)
    assert marked.document == {"a": 1, "b": {"c": 3}, "d": ["x", {"e": 2}]}
    assert marked.lines == {"a": 1, "b": 2, "b.c": 4, "d": 5, "d.0": 6, "d.1": 7}
    assert marked.duplicates == [("c", 4), ("e", 7)]


def test_a_merged_mapping_may_override_keys_and_an_alias_may_be_inside_of_its_mapping(path: Path) -> None:
    marked = read_marked_yaml(write(path, "base: &base {a: 1}\nown:\n  <<: *base\n  a: 2\nround: &it {it: *it}\n"), MAX)
    assert marked.document["own"] == {"a": 2}
    assert marked.lines["own.a"] == 4
    assert marked.duplicates == []


def test_days_become_text_in_plain_values() -> None:
    assert to_plain({1: [date(2026, 5, 3), None]}) == {"1": ["2026-05-03", None]}
