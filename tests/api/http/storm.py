"""A storm of slow clients: idle connections, half-sent heads, half-sent bodies, and bodies that are slow to check.

`python -m tests.api.http.storm http://127.0.0.1:8000 PID` says how long `/health` took and what memory it cost.
"""

import asyncio
import json
import resource
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.api.http.hostile_bodies import HOSTILE_BODIES, SIZE
from tests.api.http.wire import head, post


@dataclass(frozen=True, slots=True)
class Size:
    idle: int = 1000
    half_heads: int = 1000
    half_bodies: int = 200
    hostile_bodies: int = 100
    seconds: float = 15.0


@dataclass(slots=True)
class Report:
    health: dict[str, Any] = field(default_factory=dict)  # as tests.api.http.health_watch says it
    answers: dict[str, int] = field(default_factory=dict)
    memory_before_mib: float = 0.0
    memory_peak_mib: float = 0.0

    @property
    def memory_grown_mib(self) -> float:
        return round(self.memory_peak_mib - self.memory_before_mib, 1)


def memory_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


class Storm:
    def __init__(self, url: str, pid: int, size: Size) -> None:
        self._url = url
        address = urlsplit(url)
        self._where = (address.hostname, address.port)
        self._pid = pid
        self._size = size
        self.report = Report()

    async def run(self) -> Report:
        self.report.memory_before_mib = self.report.memory_peak_mib = memory_mib(self._pid)
        command = (sys.executable, "-m", "tests.api.http.health_watch", self._url)
        watch = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
        assert watch.stdout is not None
        await watch.stdout.readline()
        watching = asyncio.create_task(self._watch_memory())
        size = self._size
        half_body = head("POST", "/jobs", "Content-Type: application/json", f"Content-Length: {SIZE}") + b" " * (
            SIZE // 2
        )
        kinds = [
            (size.idle, b""),
            (size.half_heads, b"GET /jobs HTTP/1.1\r\nHost: local"),
            (size.half_bodies, half_body),
        ]
        bodies = list(HOSTILE_BODIES.values())
        ends = time.monotonic() + size.seconds
        async with asyncio.TaskGroup() as group:
            for count, sent in kinds:
                for _ in range(count):
                    group.create_task(self._hold(sent, ends))
            for number in range(size.hostile_bodies):
                group.create_task(self._send(post("/jobs", bodies[number % len(bodies)])))
        watching.cancel()
        said, _ = await watch.communicate(b"")
        self.report.health = json.loads(said)
        return self.report

    async def _hold(self, sent: bytes, until: float) -> None:
        """Send what there is, and then nothing more."""
        with suppress(OSError, TimeoutError):
            async with self._connection() as (reader, writer), asyncio.timeout(max(0.0, until - time.monotonic())):
                writer.write(sent)
                await reader.read()

    async def _send(self, request: bytes) -> None:
        try:
            async with self._connection() as (reader, writer):
                writer.write(request)
                status = (await reader.readline()).split()[1].decode()
        except (OSError, IndexError) as error:
            status = type(error).__name__
        self.report.answers[status] = self.report.answers.get(status, 0) + 1

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection(*self._where)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()

    async def _watch_memory(self) -> None:
        while True:
            self.report.memory_peak_mib = max(self.report.memory_peak_mib, memory_mib(self._pid))
            await asyncio.sleep(0.1)


def raise_file_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))


if __name__ == "__main__":
    raise_file_limit()
    found = asyncio.run(Storm(sys.argv[1], int(sys.argv[2]), Size()).run())
    sys.stdout.write(json.dumps({"memory_grown_mib": found.memory_grown_mib, **asdict(found)}, indent=2) + "\n")
