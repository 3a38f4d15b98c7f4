import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.services.ports import free_port
from tests.services.process import end, find_binary, kill_tree, launch, wait_until_ready


@dataclass
class RedisServer:
    """One Redis that keeps nothing on disk: stopped, it forgets everything, and keeps its port."""

    server: Path
    directory: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    def url(self, database: int = 0) -> str:
        return f"redis://127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        log = self.directory / "log"
        command: list[str | Path] = [
            self.server,
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            self.directory,
        ]
        self.process = launch([*command, "--save", "", "--appendonly", "no"], directory=self.directory, log=log)
        wait_until_ready(self.process, self.is_ready, log=log)

    def is_ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as connection:
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def stop(self) -> None:
        if self.process is not None:
            end(self.process, signal.SIGTERM)
            self.process = None

    def kill(self) -> None:
        if self.process is not None:
            kill_tree(self.process)
            self.process = None


@contextmanager
def redis_server() -> Iterator[RedisServer]:
    server = find_binary("redis-server", service="redis")
    directory = Path(tempfile.mkdtemp(prefix="corral-redis-"))
    redis = RedisServer(server=server, directory=directory, port=free_port())
    try:
        redis.start()
        yield redis
    finally:
        redis.stop()
        shutil.rmtree(directory, ignore_errors=True)
