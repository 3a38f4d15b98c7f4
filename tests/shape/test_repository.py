"""What must be true of the repository as a whole."""

import os
import re

import pytest

from tests.shape.files import ROOT, python_files, relative, repository_files

# Written in parts, so that this file does not name what it looks for.
REGISTRY_HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
    )
]
LOCKS = ["requirements.lock", "requirements-dev.lock", "requirements-bench.lock"]


def test_no_file_names_a_package_registry() -> None:
    pattern = re.compile("|".join(re.escape(host) for host in REGISTRY_HOSTS).encode())
    naming = [relative(path) for path in repository_files() if pattern.search(path.read_bytes())]
    assert not naming, f"where packages come from is the machine's business; a registry is named in {naming}"


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_pins_by_hash_and_names_no_index(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert "://" not in text
    assert not re.search(r"^\s*(--index|--extra-index|--find-links|-i |-f )", text, re.MULTILINE)
    pins = re.split(r"\n(?=\S)", text)
    assert [pin for pin in pins if "==" in pin and "--hash=sha256:" not in pin] == []


def test_ci_runs_what_a_person_runs() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert "exec make test" in script.read_text()


def test_every_make_target_in_the_readme_exists() -> None:
    readme = ROOT / "README.md"
    named = set(re.findall(r"(?:`|^\s*\$?\s*)make ([a-z][a-z-]*)", readme.read_text(), re.MULTILINE))
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert named <= targets, f"the README names targets the Makefile does not have: {sorted(named - targets)}"


def test_no_test_imports_from_a_test_module() -> None:
    pattern = re.compile(r"^\s*from tests\.(?:\w+\.)*(?:test_\w+) import", re.MULTILINE)
    importing = [relative(path) for path in python_files() if pattern.search(path.read_text())]
    assert not importing, f"move what they share into a module of its own: {importing}"
