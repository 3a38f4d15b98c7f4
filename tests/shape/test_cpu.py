"""`pytest --cpu FILE` counts what a test used, with the processes that it started."""

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
from tests.cpu import add_option as pytest_addoption, configure as pytest_configure
"""
TESTS = """
import subprocess, sys
import pytest

BURN = "import time\\nwhile time.process_time() < 0.3: pass"

@pytest.fixture
def started():
    subprocess.run([sys.executable, "-c", BURN], check=True)

def test_with_a_fixture(started):
    pass

def test_alone():
    pass
"""


def test_the_time_of_processes_counts_for_the_test_and_the_fixture_that_started_them(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_sample.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "--cpu", "cpu.txt"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, env=os.environ | PLAIN)
    assert done.returncode == 0, done.stdout
    lines = [line.split("\t") for line in (tmp_path / "cpu.txt").read_text().splitlines()]
    used = {(phase, name): float(seconds) for seconds, phase, name in lines}
    assert used["fixture", "test_sample.py:started"] >= 0.3
    assert used["setup", "test_sample.py::test_with_a_fixture"] >= 0.3
    assert used["setup", "test_sample.py::test_alone"] < 0.3
    assert "CPU seconds by module" in done.stdout
