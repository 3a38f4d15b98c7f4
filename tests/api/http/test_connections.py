"""A bounded number of connections, with room for `/health`, which names what ran out."""

import json
import resource
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE

from tests.api.http.connections_helpers import health
from tests.api.http.wire import ask, connect, head, is_closed
from tests.stack import Stack, environment, stop
from tests.waiting import block_until

LIMIT = 8
JSON = "Content-Type: application/json"


def test_idle_connections_keep_nobody_out(small: Stack) -> None:
    """The oldest of them makes room for the next client."""
    with ExitStack() as stack:
        idle = [stack.enter_context(connect(small.url)) for _ in range(100)]
        for client in idle[50:]:
            client.sendall(b"GET /jobs HTTP/1.1\r\nHost: local")
        assert ask(small.url, head("GET", "/jobs", "Connection: close")).status == 200
        told = health(small)
        assert (told["status"], told["components"]["connections"]["status"]) == ("degraded", "full")
        assert is_closed(idle[0])
    block_until(lambda: health(small)["status"] == "healthy", within_s=20, otherwise="it stays degraded")


def test_where_all_connections_have_a_request_only_health_is_answered(small: Stack) -> None:
    half = head("POST", "/jobs", JSON, "Content-Length: 100") + b"{"
    with ExitStack() as stack:
        for _ in range(LIMIT + 1):
            stack.enter_context(connect(small.url)).sendall(half)
        block_until(
            lambda: health(small)["components"]["connections"]["open"] > LIMIT,
            within_s=20,
            otherwise="they are not open",
        )
        refused = ask(small.url, head("GET", "/jobs"))
        assert (refused.status, refused.error["code"]) == (503, "too_many_connections")
        assert refused.headers["retry-after"]
        told = health(small)
        assert told["status"] == "degraded"
        assert "APP_API_MAX_CONNECTIONS allows 8" in told["components"]["connections"]["reason"]
        assert ask(small.url, head("GET", "/ready")).status == 200
    block_until(
        lambda: ask(small.url, head("GET", "/jobs")).status == 200, within_s=20, otherwise="it does not recover"
    )


def test_few_open_files_mean_fewer_connections_and_health_says_so(tmp_path: Path) -> None:
    """As many connections as the process may not have files: it answers on, and is well again after."""
    command = [sys.executable, "-m", "corral", "serve", "--port", "0", "--json"]

    def with_few_files() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))

    variables = environment(tmp_path / "var")
    process = subprocess.Popen(command, env=variables, cwd=tmp_path, stdout=PIPE, preexec_fn=with_few_files)  # noqa: PLW1509
    assert process.stdout is not None
    try:
        url = json.loads(process.stdout.readline())["url"]
        with ExitStack() as stack:
            for _ in range(150):
                stack.enter_context(connect(url))
            told = json.loads(ask(url, head("GET", "/health", "Connection: close")).body)
            assert told["status"] == "degraded"
            assert "the open-file limit allows" in told["components"]["connections"]["reason"]
        block_until(
            lambda: ask(url, head("GET", "/jobs", "Connection: close")).status == 200,
            within_s=20,
            otherwise="it does not recover",
        )
    finally:
        stop(process)
        process.stdout.close()
