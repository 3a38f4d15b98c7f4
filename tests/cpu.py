"""`pytest --cpu FILE`: write the CPU time of every test and fixture into FILE, and list the most expensive ones.

Processes that a test started count, its forks (tests/forked) included, once they have ended. The last test of each
process of `--processes` pays for the services that its tests shared.
"""

import os
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Names the file to the processes that run tests and to the server of forks.
_VARIABLE = "CORRAL_TEST_CPU"
_LISTED = 25


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--cpu", metavar="FILE", help="write the CPU time of every test into FILE")


def configure(config: pytest.Config) -> None:
    path: str | None = config.getoption("cpu")
    if path:
        Path(path).write_text("")
        os.environ[_VARIABLE] = str(Path(path).resolve())
        config.pluginmanager.register(_Measurement())


def is_measured() -> bool:
    return _VARIABLE in os.environ


def note(seconds: float, phase: str, name: str) -> None:
    """Append a line. It is written in one piece, so that processes do not mix theirs."""
    with open(os.environ[_VARIABLE], "a") as file:  # noqa: PTH123
        file.write(f"{seconds:.3f}\t{phase}\t{name}\n")


def sum_seconds(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


class _Measurement:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        yield from _measure("setup", item.nodeid)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        yield from _measure("call", item.nodeid)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        yield from _measure("teardown", item.nodeid)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        yield from _measure("fixture", f"{fixturedef.baseid}:{fixturedef.argname}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        modules, fixtures = _summarize(Path(os.environ[_VARIABLE]))
        for title, counted in (("module", modules), ("fixture (part of the modules)", fixtures)):
            terminalreporter.write_line(f"CPU seconds by {title}, {sum(counted.values()):.1f} in all:")
            for name, seconds in counted.most_common(_LISTED):
                terminalreporter.write_line(f"{seconds:8.1f} {name}")


def _measure(phase: str, name: str) -> Iterator[None]:
    before = _measure_process()
    yield
    note(_measure_process() - before, phase, name)


def _measure_process() -> float:
    return time.process_time() + sum_seconds(resource.getrusage(resource.RUSAGE_CHILDREN))


def _summarize(path: Path) -> tuple[Counter[str], Counter[str]]:
    """Sum up by module, and by fixture."""
    modules: Counter[str] = Counter()
    fixtures: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        seconds, phase, name = line.split("\t", 2)
        if phase == "fixture":
            fixtures[name] += float(seconds)  # type: ignore[assignment]
        else:
            modules[name.partition("::")[0]] += float(seconds)  # type: ignore[assignment]
    return modules, fixtures
