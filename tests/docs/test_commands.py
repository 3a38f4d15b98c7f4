"""Every command printed in the documentation is run, as it is printed, against a running installation."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.settings import Settings
from corral.store.open import bring_up
from tests import forked
from tests.services import PostgresCluster
from tests.shape.files import ROOT
from tests.stack import Stack, corral_up, demo_site

_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
_BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}:{number}")
    for page in _PAGES
    for number, block in enumerate(_BLOCK.findall(page.read_text()), start=1)
]
# What runs until it is stopped is stopped after a while, and has to end well.
_SERVING = re.compile(r"^(corral (?:up|serve|worker|demo)\b(?!.*--dry-run).*)$", re.MULTILINE)
_SERVER = "postgresql://corral@db.example/corral"
_MAKE = re.compile(r"^make ", re.MULTILINE)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with demo_site() as site, corral_up(tmp_path_factory.mktemp("docs"), site) as stack:
        yield stack


def _script(block: str, stack: Stack) -> str:
    """The block with the ports of this installation; `make` is asked what it would do, not run inside itself."""
    text = block.replace("http://127.0.0.1:8000", stack.url).replace("http://127.0.0.1:8001", stack.site)
    text = _MAKE.sub(f"make -n -C {ROOT} ", text)
    text = _SERVING.sub(r"timeout --preserve-status -s TERM 6 \1", text)
    return f"set -euo pipefail\n{text}"


@pytest.fixture(scope="module")
def database(postgres: PostgresCluster) -> str:
    """For those who move somewhere: from an installation of their own, the others go on with theirs."""
    return postgres.create_database()


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bin")
    forked.install(folder)
    return folder


@pytest.mark.parametrize("block", _BLOCKS)
def test_a_printed_command_works(
    block: str, running: Stack, programs: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings = {}
    if "corral loop" in block:  # the node of the others would look for the inventory in its own folder
        settings = {"APP_DATA_DIR": str(tmp_path / "var")}
    if "corral db migrate-to" in block:
        settings = {"APP_DATA_DIR": str(tmp_path / "var")}
        bring_up(tmp_path / "var/corral.db")
        block = block.replace(_SERVER, request.getfixturevalue("database"))
    real_programs = Path(sys.executable).parent
    if "README.md:2" in request.node.name:  # the first command of every user is run by the program itself
        block = block.replace("corral", f"{real_programs}/corral", 1)
    path = f"{programs}:{real_programs}:{running.environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", _script(block, running)],
        env={**running.environment, **settings, "PATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, f"{block}\n--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}"


def test_there_are_commands_to_run() -> None:
    assert len(_BLOCKS) >= 5


def test_every_link_inside_the_documentation_leads_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in _PAGES
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert not broken, broken


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs/howto/settings.md").read_text()
    missing = [name for name in Settings.model_fields if f"`APP_{name.upper()}`" not in text]
    assert not missing, missing
