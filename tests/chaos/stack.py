"""Nodes as processes of their own, and the ways to hurt them."""

import contextlib
import json
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from tests.forked.process import start_process
from tests.services.process import kill_tree
from tests.services.sqlite import migrate
from tests.shape.files import ROOT
from tests.slack import SLACK

SETTINGS: dict[str, Any] = {
    "workers": 2,
    "runs_per_process": 10,
    "shutdown_grace_seconds": 0.5,
    "retry_base_seconds": 0.05,
    "retry_cap_seconds": 0.2,
    "breaker_failures": 10_000,
    "host_max_delay_seconds": 0,
}


class NodeProcess:
    """One driver. What it says is kept; what its log says goes to a file."""

    def __init__(self, program: str, given: dict[str, Any], log: Path, env: dict[str, str] | None = None) -> None:
        with log.open("ab") as output:
            variables = {**os.environ, **(env or {})}
            self.process = start_process([json.dumps(given)], module=program, cwd=ROOT, stderr=output, env=variables)
        self.worker_pids: list[int] = []
        self._said: queue.Queue[dict[str, Any]] = queue.Queue()
        self._log = log
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not line.startswith(b"{"):
                continue
            message = json.loads(line)
            if message["what"] == "workers":
                self.worker_pids = message["pids"]
            else:
                self._said.put(message)
        self.process.stdout.close()

    def wait_for_message(self, what: str, timeout_s: float = 30) -> dict[str, Any]:
        """The next message of this kind."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                message = self._said.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"never said {what!r}; its log ends:\n{self._log.read_text()[-3000:]}") from None
            if message["what"] == what:
                return message

    def signal(self, which: signal.Signals) -> None:
        self.process.send_signal(which)

    def kill(self) -> None:
        """As if the machine had lost power."""
        kill_tree(self.process)
        self._reader.join(5)

    def wait(self, timeout_s: float = 30) -> int:
        code = self.process.wait(timeout_s)
        self._reader.join(5)
        return code

    def children(self) -> list[psutil.Process]:
        try:
            found: list[psutil.Process] = psutil.Process(self.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        return found


class Stack:
    """Starts nodes on one database; nothing outlives its block."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        self.folder = folder
        self._nodes: list[NodeProcess] = []

    def node(
        self, program: str = "tests.chaos.driver", env: dict[str, str] | None = None, **changed: Any
    ) -> NodeProcess:
        given = {**SETTINGS, "data_dir": str(self.folder), "database_url": self.url, **changed}
        node = NodeProcess(program, given, self.folder / f"node-{len(self._nodes)}.log", env)
        self._nodes.append(node)
        return node

    def end(self) -> None:
        for node in self._nodes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(node.pid, signal.SIGCONT)
            node.kill()


@contextlib.contextmanager
def stack_on(url: str, folder: Path) -> Iterator[Stack]:
    folder.mkdir(parents=True, exist_ok=True)
    if url.startswith("sqlite:///"):
        migrate(Path(url.removeprefix("sqlite:///")))
    stack = Stack(url, folder)
    try:
        yield stack
    finally:
        stack.end()


def wait_for(condition: Callable[[], bool], timeout_s: float = 30, every_s: float = 0.02) -> float:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + timeout_s * SLACK, f"still not true after {timeout_s * SLACK} s"
        time.sleep(every_s)
    return time.monotonic() - began
