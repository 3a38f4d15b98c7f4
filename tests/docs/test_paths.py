"""Every file and name that the documentation for maintainers gives exists, and its tree has every package."""

import re
from pathlib import Path

import pytest

from tests.shape.files import ROOT, python_files

SOURCE = ROOT / "src/corral"
_PATH = re.compile(r"`((?:[a-z_]+/)+[a-zA-Z_]+\.(?:py|md|yaml|toml)|(?:[a-z_]+/)+|[a-z_]+\.py)`")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_path_that_is_named_exists(page: str) -> None:
    named = set(_PATH.findall((ROOT / page).read_text()))
    assert named, "the pattern finds no path any more"
    bases = (ROOT, SOURCE)
    missing = [path for path in sorted(named) if not any((base / path).exists() for base in bases)]
    assert not missing, f"{page} names files that do not exist: {missing}"


def test_every_name_of_the_table_of_additions_is_in_a_file_of_its_row() -> None:
    missing = []
    for row in re.findall(r"^\| \*\*.+$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE):
        files = [base / path for path in _PATH.findall(row) for base in (ROOT, SOURCE) if (base / path).exists()]
        code = "".join(_read(path) for path in files)
        missing += [name for name in re.findall(r"`(_?[A-Z]\w+)`", row) if not re.search(rf"\b{name}\b", code)]
    assert not missing, f"no file of their row has them: {missing}"


def _read(path: Path) -> str:
    return path.read_text() if path.is_file() else "".join(each.read_text() for each in path.glob("*.py"))


def test_the_tree_of_the_architecture_has_every_package() -> None:
    tree = (ROOT / "docs/architecture.md").read_text().partition("```text\ncorral/\n")[2].partition("```")[0]
    written = {
        f"{package}/{inner}".rstrip("/")
        for package, text in re.findall(r"^  (\w+)/ +(.+(?:\n {4,}.+)*)", tree, re.MULTILINE)
        for inner in ("", *re.findall(r"(\w+)/", text))
    }
    folders = {path.parent.relative_to(SOURCE).parts for path in python_files() if path.is_relative_to(SOURCE)}
    existing = {"/".join(parts[:2]) for parts in folders} | {parts[0] for parts in folders if parts}
    assert sorted(existing - {""} - written) == [], "packages that the tree does not have"
    assert sorted(written - existing) == [], "the tree has packages that do not exist"
