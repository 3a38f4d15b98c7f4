"""Connections that do nothing, or too little, are closed; those who began a request are told why."""

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.api.http.wire import connect, head, is_closed, read_answer
from tests.slack import SLACK
from tests.stack import Stack, corral_up

JSON = "Content-Type: application/json"


def test_a_silent_connection_is_closed(small: Stack) -> None:
    with connect(small.url) as client:
        assert is_closed(client)


def test_an_idle_connection_is_closed_after_its_request(small: Stack) -> None:
    with connect(small.url) as client:
        client.sendall(head("GET", "/ready"))
        assert read_answer(client).status == 200
        assert is_closed(client)


@pytest.mark.parametrize(
    "sent", [b"G", b"GET /jobs HTTP/1.1\r\n", b"GET /jobs HTTP/1.1\r\nHost: localhost\r\nX-Long: a"]
)
def test_half_a_head_is_answered_with_408(small: Stack, sent: bytes) -> None:
    with connect(small.url) as client:
        client.sendall(sent)
        assert read_answer(client).error["code"] == "request_timeout"
        assert is_closed(client)


def test_the_next_head_on_a_connection_has_the_same_time(small: Stack) -> None:
    with connect(small.url) as client:
        client.sendall(head("GET", "/ready") + b"GET /re")
        assert read_answer(client).status == 200
        assert read_answer(client).status == 408


def test_a_head_that_trickles_in_is_not_waited_for(small: Stack) -> None:
    began = time.monotonic()
    with connect(small.url) as client:
        client.settimeout(0.1)
        for byte in head("GET", "/ready", "X-Slow: " + "a" * 1000):
            try:
                client.sendall(bytes([byte]))
                if client.recv(4096).startswith(b"HTTP/1.1 408"):
                    break
            except TimeoutError:
                continue
        else:
            raise AssertionError("it was waited for")
    assert time.monotonic() - began < 10 * SLACK


@pytest.mark.parametrize(
    "sent",
    [
        head("POST", "/jobs", JSON, "Content-Length: 100") + b"{",
        head("POST", "/jobs", JSON, "Content-Length: 900000") + b" " * 100_000,
        head("POST", "/jobs", JSON, "Transfer-Encoding: chunked") + b"1\r\n{\r\n",
    ],
    ids=["small", "large", "chunked"],
)
def test_half_a_body_is_answered_with_408(small: Stack, sent: bytes) -> None:
    with connect(small.url) as client:
        client.sendall(sent)
        assert read_answer(client).error["code"] == "request_timeout"
        assert is_closed(client)


def test_a_stop_does_not_wait_for_what_has_not_arrived(site: str, tmp_path: Path) -> None:
    """Idle connections, half a head and half a body, each of which would be waited for on its own."""
    patient = {"APP_API_HEADER_TIMEOUT_SECONDS": "600", "APP_API_BODY_TIMEOUT_SECONDS": "600"}
    with ExitStack() as clients:
        with corral_up(tmp_path, site, "serve", **patient) as stack:
            for sent in (b"", b"GET / HT", head("POST", "/jobs", JSON, "Content-Length: 9") + b"{"):
                clients.enter_context(connect(stack.url)).sendall(sent)
            assert stack.client.get("/ready").status_code == 200
        said = (tmp_path / "corral.log").read_text()
    assert "graceful" not in said
    assert "Traceback" not in said
