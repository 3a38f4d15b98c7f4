"""Every Python program printed in the how-tos is run as it is printed."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import forked
from tests.services import RedisServer
from tests.shape.files import ROOT
from tests.slack import SLACK
from tests.stack import corral_up, demo_site, environment

_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_DEMO, _SERVER = "http://127.0.0.1:8001", "http://127.0.0.1:8000"
_BLOCKS = [
    pytest.param(page.stem, block, id=f"{page.relative_to(ROOT)}:{number}")
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for number, block in enumerate(_BLOCK.findall(page.read_text()), start=1)
]


def _prepare_queue(folder: Path) -> None:
    """A queue file with one task, and the script that executes it."""
    task = {"id": "task_000001", "priority": "critical", "source": "games", "scraper": "games", "season": "2024-25"}
    for name, text in {
        "inventory/gaps.json": json.dumps({"tasks": [task]}),
        "config/scraper_config.yaml": "scrapers: {games: {script: scripts/games.py}}\n",
        "scripts/games.py": "import pathlib\npathlib.Path('called').touch()\n",
    }.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


def _prepare_project(folder: Path) -> None:
    (folder / "config").mkdir()
    config = "scrapers: {games_scraper: {script: scripts/games.py, project: news}}\n"
    (folder / "config/scraper_config.yaml").write_text(config)
    (folder / "scripts").mkdir()
    (folder / "scripts/games.py").write_text("import time\ntime.sleep(30)\n")


# What a program finds where it is started, and what it has done afterwards.
_PREPARE: dict[str, Callable[[Path], None]] = {"queue": _prepare_queue, "scrapyd": _prepare_project}
_OUTPUT = {"workflows": "{'valid': 950}\n", "supervisor": "'total': 2"}
_LEAVES = {"queue": "called"}


@pytest.mark.parametrize("page, block", _BLOCKS)
def test_a_printed_program_works(page: str, block: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if page in _PREPARE:
        _PREPARE[page](tmp_path)
    program = tmp_path / "program.py"
    settings = {}
    if "start_redis" in block:
        redis: RedisServer = request.getfixturevalue("redis_server")
        settings = {"APP_CELERY_BROKER_URL": redis.url(13)}
    with ExitStack() as stack:
        site = stack.enter_context(demo_site()) if _DEMO in block else ""
        url = stack.enter_context(corral_up(tmp_path, site)).url if _SERVER in block else ""
        program.write_text(block.replace(_DEMO, site).replace(_SERVER, url))
        done = _run(program, "CORRAL_RESULT_FD" in block, settings)
    assert done.returncode == 0, done.stderr
    assert _OUTPUT.get(page, "") in done.stdout, done.stderr
    assert page not in _LEAVES or (tmp_path / _LEAVES[page]).exists()


def _run(program: Path, is_script: bool, settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A script of a user is started by Corral, which gives it the descriptor for its results."""
    script = (*forked.command(), "run-script", "--", sys.executable, str(program))
    variables = environment(program.parent / "var", **settings)
    return subprocess.run(
        script if is_script else forked.command(str(program)),
        cwd=program.parent,
        env={**variables, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60 * SLACK,
        check=False,
    )
