"""The package as `pip install corral` gives it: what it imports is declared, and the built wheel starts."""

import ast
import os
import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.chaos.level import LEVEL
from tests.cli.command import line_with
from tests.shape.files import ROOT, without_collector

# Needed to build and install Corral, not to run it.
_BUILD_ONLY = {"editables", "hatchling"}
_PIP = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check"]


def _read_declared_names() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {canonicalize_name(Requirement(each).name) for each in project["dependencies"]}


def _imports() -> Iterator[tuple[str, Path]]:
    """Top-level names that a module imports, and packages whose files it asks for by name."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from ((each.name.partition(".")[0], path) for each in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0], path
            elif isinstance(node, ast.Call) and _name_function(node.func).endswith("files"):
                named = [each.value for each in node.args if isinstance(each, ast.Constant)]
                yield from ((str(name).partition(".")[0], path) for name in named)


def _name_function(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ast.unparse(function)


def test_every_import_is_declared_as_a_dependency_of_the_package() -> None:
    providers = metadata.packages_distributions()
    declared = _read_declared_names()
    with without_collector():
        imports = list(_imports())
    missing = {
        (name, path.name)
        for name, path in imports
        if name not in sys.stdlib_module_names
        and name not in ("corral", "compression")
        and not {canonicalize_name(each) for each in providers.get(name, ())} & declared
    }
    assert missing == set()


def test_the_lock_is_compiled_from_what_the_package_declares() -> None:
    lines = (ROOT / "requirements.in").read_text().splitlines()
    listed = {canonicalize_name(Requirement(line).name) for line in lines if re.match("[A-Za-z]", line)}
    assert listed - _BUILD_ONLY == _read_declared_names()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_wheel_starts_in_an_environment_that_has_only_its_dependencies(tmp_path: Path) -> None:
    [wheel] = _build(tmp_path / "dist")
    home = tmp_path / "venv"
    venv.create(home)
    pip = [*_PIP, "--python", str(home / "bin" / "python")]
    if LEVEL == "long":
        _run(*pip, "install", "-q", str(wheel))
    else:
        _run(*pip, "install", "-q", "--no-deps", str(wheel))
        _link_dependencies(wheel, home)
    _run(*pip, "check")

    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("APP_", "PYTHON"))}
    settings = {"APP_DATA_DIR": str(tmp_path / "data"), "APP_WORKERS": "1", "APP_SHUTDOWN_GRACE_SECONDS": "1"}
    with subprocess.Popen(
        [str(home / "bin" / "corral"), "up", "--port", "0"],
        cwd=tmp_path,
        env={**inherited, **settings, "TERM": "dumb"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as up:
        try:
            api = re.sub(r".*(http://\S+)/\s*", r"\1", line_with(up, "dashboard"))
            assert httpx.get(f"{api}/health", timeout=30).json()["status"] == "healthy"
            assert {httpx.get(f"{api}{path}", timeout=30).status_code for path in ("/", "/docs", "/openapi.json")} == {
                200
            }
        finally:
            up.terminate()
            up.communicate(timeout=60)


def _build(folder: Path) -> list[Path]:
    _run(*_PIP, "wheel", "-q", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    return list(folder.glob("corral-*.whl"))


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _link_dependencies(wheel: Path, home: Path) -> None:
    """What pip would install for the wheel, linked from here: the closure of its requirements and nothing else."""
    [site] = (home / "lib").glob("python*/site-packages")
    for name in _closure(wheel):
        distribution = metadata.distribution(name)
        tops = {Path(file.parts[0]) for file in distribution.files or () if file.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            link = site / top
            if not link.exists():
                link.symlink_to(str(distribution.locate_file(top)))


def _closure(wheel: Path) -> set[str]:
    [about] = metadata.Distribution.discover(name="corral", path=[str(wheel)])
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(each) for each in about.requires or ()]
    while waiting:
        wanted = waiting.pop()
        key = (canonicalize_name(wanted.name), frozenset(wanted.extras))
        if key in found:
            continue
        found.add(key)
        for each in map(Requirement, metadata.distribution(wanted.name).requires or ()):
            extras = wanted.extras or {""}
            if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(each)
    return {name for name, _ in found}
