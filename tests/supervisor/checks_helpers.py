"""Helpers of the tests of checks, shared with other tests."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corral.supervisor.checks import (
    redis_health,
)
from tests.services.ports import free_port
from tests.services.process import find_binary
from tests.waiting import block_until


@contextmanager
def redis_with(folder: Path, *options: str) -> Iterator[str]:
    port = free_port()
    server = str(find_binary("redis-server", service="redis"))
    command = [server, "--port", str(port), "--dir", str(folder), "--save", ""]
    with subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL) as process:
        try:
            block_until(lambda: not redis_health(f"redis://127.0.0.1:{port}/0").problem.startswith("no Redis"))
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.kill()


@contextmanager
def serve_words(words: bytes) -> Iterator[int]:
    """A server with one answer to everything; without one, it hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    if words:
                        connection.recv(1000)
                        connection.sendall(words * 5)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()
