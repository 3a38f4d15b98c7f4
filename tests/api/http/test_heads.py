"""What is refused before there is a request: each in the shape of every other error."""

import contextlib
import re
import socket

import pytest

from tests.api.http.storm import memory_mib
from tests.api.http.wire import ask, connect, head, is_closed, post, read_answer
from tests.stack import Stack

KIB = 1024
FORM = "application/x-www-form-urlencoded"

REFUSED: dict[str, tuple[bytes, int, str]] = {
    "no HTTP": (b"hello\r\n\r\n", 400, "bad_request"),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "bad_request"),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "bad_request"),
    "a header without a colon": (b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n", 400, "bad_request"),
    "a NUL in a header": (b"GET / HTTP/1.1\r\nHost: a\x00b\r\n\r\n", 400, "bad_request"),
    "two lengths": (head("POST", "/jobs", "Content-Length: 5", "Content-Length: 6"), 400, "bad_request"),
    "a negative length": (head("POST", "/jobs", "Content-Length: -1"), 400, "bad_request"),
    "length and chunks": (head("POST", "/jobs", "Content-Length: 5", "Transfer-Encoding: chunked"), 400, "bad_request"),
    "a broken chunk": (
        head("POST", "/jobs", "Content-Type: application/json", "Transfer-Encoding: chunked") + b"zz\r\n",
        400,
        "bad_request",
    ),
    "CONNECT": (b"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", 405, "method_not_allowed"),
    "an unknown method": (head("FROB", "/jobs"), 405, "method_not_allowed"),
    "an unknown method of no path": (head("FROB", "/nothing"), 404, "not_found"),
    "a known method that no path takes": (head("PROPFIND", "/jobs"), 405, "method_not_allowed"),
    "OPTIONS": (head("OPTIONS", "/jobs"), 405, "method_not_allowed"),
    "TRACE": (head("TRACE", "/health"), 405, "method_not_allowed"),
    "a write to a page": (head("POST", "/docs"), 405, "method_not_allowed"),
    "a write to a file": (head("DELETE", "/static/app.js"), 405, "method_not_allowed"),
    "a form for what takes none": (
        post("/health", b"a=1", FORM),
        405,
        "method_not_allowed",
    ),
    "no such path": (head("GET", "/nothing"), 404, "not_found"),
    "no such file": (head("GET", "/static/nothing.js"), 404, "not_found"),
    "a file above": (head("GET", "/static/%2e%2e/app.py"), 404, "not_found"),
    "a long query": (head("GET", "/jobs?q=" + "a" * 70_000), 414, "url_too_long"),
    "a long path": (head("GET", "/" + "a" * 40_000), 414, "url_too_long"),
    "one large header": (head("GET", "/jobs", "X-Large: " + "a" * 65 * KIB), 431, "headers_too_large"),
    "large headers": (head("GET", "/jobs", *[f"X-{n}: {'a' * KIB}" for n in range(65)]), 431, "headers_too_large"),
    "many headers": (head("GET", "/jobs", *[f"X-{n}: 1" for n in range(100)]), 431, "headers_too_large"),
    "many trailers": (
        head("POST", "/jobs", "Content-Type: application/json", "Transfer-Encoding: chunked")
        + b"2\r\n{}\r\n0\r\n"
        + b"".join(b"X-%d: 1\r\n" % number for number in range(200)),
        431,
        "headers_too_large",
    ),
    "a large body": (
        head("POST", "/jobs", "Content-Type: application/json", "Content-Length: 1048577"),
        413,
        "body_too_large",
    ),
    "an endless body": (head("POST", "/jobs", "Content-Length: 99999999999999999999"), 400, "bad_request"),
    "a form": (post("/jobs", b"a=1", FORM), 415, "unsupported_media_type"),
}


@pytest.mark.parametrize("request_bytes, status, code", REFUSED.values(), ids=REFUSED)
def test_every_refusal_has_the_shape_of_an_error(stack: Stack, request_bytes: bytes, status: int, code: str) -> None:
    answer = ask(stack.url, request_bytes)
    assert (answer.status, answer.error["code"]) == (status, code)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert ("allow" in answer.headers) == (status == 405)


@pytest.mark.parametrize(
    "path, allowed",
    [
        ("/jobs", "GET, HEAD, POST"),
        ("/jobs/01a1de72-ef57-70cc-9efc-dbcdc746657c", "DELETE, GET, HEAD, PATCH"),
        ("/", "GET, HEAD"),
        ("/openapi.json", "GET, HEAD"),
        ("/static/app.js", "GET, HEAD"),
        ("/scraping/async-scrape", "POST"),
    ],
)
@pytest.mark.parametrize("method", ["OPTIONS", "FROB"])
def test_allow_names_every_method_of_the_path(stack: Stack, path: str, allowed: str, method: str) -> None:
    assert ask(stack.url, head(method, path)).headers["allow"] == allowed


def test_what_is_just_within_the_limits_is_answered(stack: Stack) -> None:
    hundred = head("GET", "/health", *[f"X-{number}: 1" for number in range(99)])
    large = head("GET", "/health", "X-Large: " + "a" * 64_000)
    for request in (hundred, large, head("GET", "/jobs/intelligence/domain?url=http://localhost/" + "a" * 2_000)):
        assert ask(stack.url, request).status == 200


def test_a_header_without_end_is_refused_and_costs_no_memory(stack: Stack) -> None:
    before_mib = memory_mib(stack.process.pid)
    with connect(stack.url) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Endless: " + b"a" * KIB * KIB)
        assert read_answer(client).error["code"] == "headers_too_large"
        with contextlib.suppress(ConnectionError):
            for _ in range(1600):
                client.sendall(b"a" * 64 * KIB)
    assert memory_mib(stack.process.pid) - before_mib < 32


def test_the_answer_to_a_large_body_can_be_read_by_a_client_that_sends_first(stack: Stack) -> None:
    """A connection closed with unread bytes is reset, and the client never sees why."""
    with connect(stack.url) as client:
        client.sendall(post("/jobs", b" " * 8 * KIB * KIB))
        assert read_answer(client).error["code"] == "body_too_large"
        assert is_closed(client)


def test_requests_sent_ahead_are_answered_in_order_and_bounded(stack: Stack) -> None:
    last = head("GET", "/ready", "Connection: close")
    assert _statuses(stack, head("GET", "/ready") + head("GET", "/nothing") + last) == [b"200", b"404", b"200"]
    assert len(_statuses(stack, head("GET", "/ready") * 1000)) < 20


def _statuses(stack: Stack, requests: bytes) -> list[bytes]:
    with connect(stack.url) as client:
        client.sendall(requests)
        received = b""
        while piece := client.recv(65536):
            received += piece
    return re.findall(rb"HTTP/1.1 (\d+)", received)


def test_a_request_after_a_refused_one_is_answered_on_the_same_connection(stack: Stack) -> None:
    with connect(stack.url) as client:
        client.sendall(post("/jobs", b"a=1", "text/plain"))
        assert read_answer(client).status == 415
        client.sendall(head("GET", "/ready"))
        assert read_answer(client).status == 200


def test_trailers_do_not_become_headers(stack: Stack) -> None:
    request = head("POST", "/jobs", "Content-Type: application/json", "Transfer-Encoding: chunked")
    answer = ask(stack.url, request + b"2\r\n{}\r\n0\r\nAuthorization: x\r\n\r\n")
    assert answer.error["field"] == "target_url"


def test_a_body_that_breaks_off_starts_nothing(stack: Stack) -> None:
    path = f"/jobs/{stack.job()['id']}/runs"
    for kind, sent in (("Content-Length: 12", b"{}"), ("Transfer-Encoding: chunked", b"2\r\n{}\r\n")):
        with connect(stack.url) as client:
            client.sendall(head("POST", path, "Content-Type: application/json", kind) + sent)
            client.shutdown(socket.SHUT_WR)
            assert is_closed(client)
    whole = stack.client.post(path, json={})
    assert [run["id"] for run in stack.client.get(path).json()] == [whole.json()["id"]]
