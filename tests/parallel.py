"""`pytest --processes N`: collect the tests once, then run them in N forks of this process.

Importing and collecting takes ten seconds of CPU time. pytest-xdist does so in each of its processes, and again in the
one that distributes the tests.
"""

import gc
import os
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.report import LINES

_Message = tuple[str, Any]
_TESTS = Path(__file__).parent
# Folders whose tests start next to no processes, and folders whose tests mostly wait for outages and restarts: those
# are spread over the processes, so that others use the processor meanwhile.
_QUICK = frozenset({"demo", "domain", "eval", "export", "extract", "shape"})
_SLOW = frozenset({"celery_app", "chaos", "deploy", "docs", "supervisor"})
_LONGER, _LONGEST = 20, 150


def add_option(parser: pytest.Parser) -> None:
    parser.addoption("--processes", type=int, default=0, metavar="N", help="run the tests in N processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    count: int = session.config.getoption("processes")
    if count < 1 or session.testsfailed or session.config.getoption("collectonly"):
        return None  # pytest's own loop
    threads = len(list(Path("/proc/self/task").iterdir())) if sys.platform == "linux" else 1
    if threads != 1:
        raise RuntimeError(
            f"an import started {threads - 1} threads, which the forks would lack: import it in the test"
        )
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    gc.collect()
    gc.freeze()
    _Distribution(session, count).run()
    return True


def _weigh(item: pytest.Item) -> int:
    """How long a test takes, compared with others, by its folder."""
    where = item.path.relative_to(_TESTS).parts if item.path.is_relative_to(_TESTS) else ()
    if not where or where[0] not in _QUICK | _SLOW:
        return _LONGER
    return 1 if where[0] in _QUICK else _LONGEST


def divide(weights: list[int], count: int) -> list[deque[int]]:
    """Consecutive tests for each of `count` processes, so that all have about as much to do."""
    ranges: list[deque[int]] = [deque() for _ in range(count)]
    total, before = sum(weights), 0
    for test, weight in enumerate(weights):
        ranges[before * count // total].append(test)
        before += weight
    return ranges


def take_half(waiting: deque[int], weights: list[int]) -> list[int]:
    """Remove the last tests, about half of what there is to do, at least one."""
    half = sum(weights[test] for test in waiting) / 2
    taken: list[int] = []
    while waiting and (not taken or sum(weights[test] for test in taken) + weights[waiting[-1]] <= half):
        taken.append(waiting.pop())
    return taken[::-1]


@dataclass(eq=False)
class _Worker:
    pid: int
    link: "Connection[Any, Any]"
    # A folder's tests stay together, so that the services they share start once or twice.
    waiting: deque[int]
    running: int | None = None
    following: int | None = None
    is_done: bool = False


class _Distribution:
    """Gives tests to workers and reports what they send."""

    def __init__(self, session: pytest.Session, count: int) -> None:
        self._session = session
        self._config = session.config
        self._workers: list[_Worker] = []
        self._weights = [_weigh(item) for item in session.items]
        # The slow ones first: one that begins last would run alone at the end.
        ranges = divide(self._weights, count)
        self._ranges = [deque(sorted(each, key=lambda test: -self._weights[test])) for each in ranges]
        self._started = 0

    def run(self) -> None:
        for tests in self._ranges:
            self._start(tests)
        try:
            while self._workers and not self._session.shouldfail:
                links = {worker.link: worker for worker in self._workers}
                for link in wait(list(links)):
                    self._read(links[link])  # type: ignore[index]
        finally:
            for worker in self._workers:
                worker.link.close()  # which tells it to stop
            for worker in self._workers:
                os.waitpid(worker.pid, 0)
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)

    def _start(self, tests: deque[int]) -> None:
        ours, theirs = Pipe()
        self._started += 1
        pid = os.fork()
        if pid == 0:
            ours.close()
            for other in self._workers:
                other.link.close()
            _work(self._session, theirs, self._started)
        theirs.close()
        worker = _Worker(pid, ours, tests)
        self._workers.append(worker)
        worker.following = self._take(worker)
        worker.link.send(worker.following)

    def _read(self, worker: _Worker) -> None:
        try:
            kind, content = worker.link.recv()
        except (EOFError, ConnectionError):
            self._end(worker)
            return
        match kind:
            case "next":
                worker.running, worker.following = worker.following, self._take(worker)
                worker.link.send(worker.following)
            case "report":
                report = self._config.hook.pytest_report_from_serializable(config=self._config, data=content)
                self._config.hook.pytest_runtest_logreport(report=report)
            case "done":
                worker.is_done = True
                LINES.extend(content)

    def _take(self, worker: _Worker) -> int | None:
        """The next test of a worker, which takes over half of what is left to another one when it has none."""
        if not worker.waiting:
            other = max(self._workers, key=lambda each: sum(self._weights[test] for test in each.waiting))
            worker.waiting.extend(take_half(other.waiting, self._weights))
        return worker.waiting.popleft() if worker.waiting else None

    def _end(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.link.close()
        _, status = os.waitpid(worker.pid, 0)
        if worker.is_done:
            return
        self._report_crash(worker, os.waitstatus_to_exitcode(status))
        if worker.following is not None:
            worker.waiting.appendleft(worker.following)
            self._start(worker.waiting)

    def _report_crash(self, worker: _Worker, code: int) -> None:
        where = worker.running if worker.running is not None else worker.following
        assert where is not None
        item = self._session.items[where]
        report = pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="failed",
            longrepr=f"the process of this test ended with {code}",
            when="call",
        )
        self._config.hook.pytest_runtest_logreport(report=report)


class _Reports:
    """In a worker: sends the reports instead of printing them."""

    def __init__(self, config: pytest.Config, send: Callable[[_Message], None]) -> None:
        self._config = config
        self._send = send

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._send(("report", data))


def _work(session: pytest.Session, link: "Connection[Any, Any]", number: int) -> None:
    """Run the tests that are sent, then exit."""
    code = 1
    try:
        _separate(session.config, number)
        session.config.pluginmanager.register(_Reports(session.config, link.send))
        current = link.recv()
        while current is not None:
            link.send(("next", None))
            following = link.recv()
            item = session.items[current]
            next_item = None if following is None else session.items[following]
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)
            current = following
        link.send(("done", LINES))
        code = 0
    except (EOFError, ConnectionError, KeyboardInterrupt):
        pass
    finally:
        if code:
            session._setupstate.teardown_exact(None)
        os._exit(code)


def _separate(config: pytest.Config, number: int) -> None:
    """What this process would share with the one it was forked from: the terminal, captured output, temporary files."""
    plugins = config.pluginmanager
    plugins.unregister(plugins.getplugin("terminalreporter"))
    capture = plugins.getplugin("capturemanager")
    assert capture is not None
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    folder = factory.getbasetemp() / f"process-{number}"
    folder.mkdir(mode=0o700)
    factory._basetemp = folder
