"""`scripts/test` names a test that failed, or ended its process, among the others and passed alone."""

import os
import subprocess
import sys
from pathlib import Path

from tests.shape.files import ROOT

# Plugins that these tests do not use take seconds to load.
PLAIN = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
CONFTEST = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.parallel import add_option as pytest_addoption, pytest_runtestloop
"""
TESTS = """
import os
from pathlib import Path

def test_that_fails_once():
    marker = Path("failed-once")
    if not marker.exists():
        marker.touch()
        raise AssertionError

def test_that_ends_its_process_once():
    marker = Path("ended-once")
    if not marker.exists():
        marker.touch()
        os._exit(3)

def test_that_passes():
    pass

def test_that_fails():
    raise AssertionError
"""


def test_a_test_that_passes_alone_is_printed_as_flaky_and_one_that_fails_alone_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_sample.py").write_text(TESTS)
    command = [str(ROOT / "scripts/test"), str(Path(sys.executable).with_name("pytest")), "1", "true"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, env=os.environ | PLAIN)
    assert done.returncode == 1
    flaky = [line for line in done.stdout.splitlines() if line.startswith("FLAKY")]
    assert flaky == [
        "FLAKY test_sample.py::test_that_fails_once",
        "FLAKY test_sample.py::test_that_ends_its_process_once",
    ]
    assert "the process of this test ended with 3" in done.stdout
    assert "3 failed, 1 passed" in done.stdout
