"""Connections that do nothing, or too little, are closed; those who began a request are told why."""

import time

import pytest

from tests.door.wire import connected, head, is_closed, read_answer
from tests.slack import SLACK
from tests.stack import Stack

JSON = "Content-Type: application/json"


def test_a_silent_connection_is_closed(small: Stack) -> None:
    with connected(small.url) as client:
        assert is_closed(client)


def test_an_idle_connection_is_closed_after_its_request(small: Stack) -> None:
    with connected(small.url) as client:
        client.sendall(head("GET", "/ready"))
        assert read_answer(client).status == 200
        assert is_closed(client)


@pytest.mark.parametrize(
    "sent", [b"G", b"GET /jobs HTTP/1.1\r\n", b"GET /jobs HTTP/1.1\r\nHost: localhost\r\nX-Long: a"]
)
def test_half_a_head_is_answered_with_408(small: Stack, sent: bytes) -> None:
    with connected(small.url) as client:
        client.sendall(sent)
        assert read_answer(client).error["code"] == "request_timeout"
        assert is_closed(client)


def test_the_next_head_on_a_connection_has_the_same_time(small: Stack) -> None:
    with connected(small.url) as client:
        client.sendall(head("GET", "/ready") + b"GET /re")
        assert read_answer(client).status == 200
        assert read_answer(client).status == 408


def test_a_head_that_trickles_in_is_not_waited_for(small: Stack) -> None:
    began = time.monotonic()
    with connected(small.url) as client:
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
    with connected(small.url) as client:
        client.sendall(sent)
        assert read_answer(client).error["code"] == "request_timeout"
        assert is_closed(client)
