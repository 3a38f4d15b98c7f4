"""The distributed installation as processes of its own, and the ways to hurt it."""

import contextlib
import os
import random
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import redis

from corral.transport.celery import STEPS
from tests.forked.process import Process, start_process
from tests.services import RedisServer
from tests.slack import SLACK
from tests.stack import environment, serve_api, stop
from tests.waiting import pauses

TERMINAL = ("completed", "partial", "failed", "cancelled")
_AT_ONCE = 8


@dataclass
class Fleet:
    """An API and some Celery workers. Workers hear of runs from `broker`, which need not be where the API tells."""

    folder: Path
    database_url: str
    url: str = ""
    variables: dict[str, str] = field(default_factory=dict)
    workers: list[Process] = field(default_factory=list)

    def start_worker(self, *arguments: str, broker: str | None = None) -> Process:
        told = {"APP_CELERY_BROKER_URL": broker} if broker else {}
        log = (self.folder / f"worker-{len(self.workers)}.log").open("ab")
        process = start_process(
            ["worker", "--json", *arguments], env={**self.variables, **told}, cwd=self.folder, stderr=log
        )
        log.close()
        self.workers.append(process)
        return process

    def kill_worker(self, process: Process) -> None:
        """As the kernel would, without a word; its children go with it."""
        self.workers.remove(process)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()

    def kill_child(self, process: Process) -> bool:
        """One of the worker processes below a Celery worker. False where it has none right now."""
        children = [
            child
            for child in psutil.Process(process.pid).children()
            if "corral.entrypoints.worker_process" in child.cmdline()
        ]
        for child in children[:1]:
            child.kill()
        return bool(children)

    def logs(self) -> str:
        return "\n".join(path.read_text(errors="replace")[-2000:] for path in sorted(self.folder.glob("*.log")))


def until_works(process: Process) -> None:
    assert process.stdout is not None
    assert b'"works"' in process.stdout.readline()


@contextlib.contextmanager
def fleet(folder: Path, database_url: str, broker_url: str, **settings: str) -> Iterator[Fleet]:
    told = {"APP_TRANSPORT": "celery", "APP_DATABASE_URL": database_url, "APP_CELERY_BROKER_URL": broker_url}
    told["APP_API_WRITE_RATE"] = "0"  # a flood of runs is what it is for
    made = Fleet(folder, database_url, variables=environment(folder / "var", **told, **settings))
    try:
        with serve_api(folder, made.variables) as (url, _):
            made.url = url
            yield made
    finally:
        for process in made.workers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                stop(process, 30)
            if process.stdout is not None:
                process.stdout.close()


class Liar:
    """Carries messages from one Redis database to another, and loses, doubles or delays some of them."""

    def __init__(self, server: RedisServer, source: int, target: int, rng: random.Random) -> None:
        self._from, self._to = server.url(source), server.url(target)
        self._rng = rng
        self._stop = threading.Event()
        self._late: list[tuple[float, str, bytes]] = []
        self.lost = self.doubled = self.delayed = self.carried = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Liar":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        names = [name + (f"\x06\x16{step}" if step else "") for name in ("http", "browser") for step in STEPS.values()]
        with redis.from_url(self._from) as source, redis.from_url(self._to) as target:
            while not self._stop.is_set():
                try:
                    self._carry(source, target, names)
                except redis.RedisError:
                    time.sleep(0.05)

    def _carry(self, source: "redis.Redis", target: "redis.Redis", names: list[str]) -> None:
        found: Any = source.brpop(names, timeout=0.05)
        now = time.monotonic()
        if found is not None:
            name, body = found[0].decode(), found[1]
            self.carried += 1
            chance = self._rng.random()
            if chance < 0.3:
                self.lost += 1
            elif chance < 0.6:
                self.doubled += 1
                target.lpush(name, body, body)
            elif chance < 0.7:
                self.delayed += 1
                self._late.append((now + self._rng.uniform(1, 5), name, body))
            else:
                target.lpush(name, body)
        for each in [late for late in self._late if late[0] <= now]:
            self._late.remove(each)
            target.lpush(each[1], each[2])


@dataclass
class Answers:
    """What the API said, and how long it took."""

    ids: list[str] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)
    slowest_s: float = 0.0
    without_retry_after: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, answer: httpx.Response, took_s: float) -> None:
        with self.lock:
            self.statuses[answer.status_code] = self.statuses.get(answer.status_code, 0) + 1
            self.slowest_s = max(self.slowest_s, took_s)
            if answer.status_code == 503 and "retry-after" not in answer.headers:
                self.without_retry_after += 1


def create_job(url: str, target: str) -> str:
    body = {"target_url": target, "fields": ["title"], "strategy": "http"}
    answer = httpx.post(f"{url}/jobs", json=body, timeout=20)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


def submit(url: str, job: str, count: int, answers: Answers, spread_s: float = 0.0) -> None:
    """So many runs from several clients that do not give up: each has a key, so none is started twice."""
    with httpx.Client(base_url=url, timeout=30) as client, ThreadPoolExecutor(_AT_ONCE) as threads:
        pauses = spread_s / max(1, count) * _AT_ONCE
        list(threads.map(lambda _: _submit_one(client, job, answers, pauses), range(count)))


def _submit_one(client: httpx.Client, job: str, answers: Answers, pause_s: float) -> None:
    key = uuid.uuid4().hex
    if pause_s:
        time.sleep(pause_s)
    while True:
        began = time.monotonic()
        answer = client.post(f"/jobs/{job}/runs", headers={"Idempotency-Key": key})
        answers.note(answer, time.monotonic() - began)
        if answer.status_code == 200:
            with answers.lock:
                answers.ids.append(answer.json()["id"])
            return
        assert answer.status_code == 503, answer.text
        time.sleep(0.2)


def wait_until_drained(url: str, within_s: float, logs: Any = str) -> float:
    """Until nothing waits and nothing runs; how long that took."""
    began = time.monotonic()
    with httpx.Client(base_url=url, timeout=30) as client:
        looks = pauses()
        while True:
            with contextlib.suppress(KeyError, ValueError):
                runs = client.get("/health").json()["components"]["runs"]
                if not (runs.get("queued") or runs.get("running")):
                    return time.monotonic() - began
            assert time.monotonic() - began < within_s * SLACK, f"not drained: {logs()}"
            time.sleep(next(looks))
