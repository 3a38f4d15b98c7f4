"""Bodies built to be slow are answered at once, and nobody else waits for them."""

import time

import pytest

from tests.api.http.hostile_bodies import HOSTILE_BODIES
from tests.api.http.wire import ask, head, post
from tests.slack import SLACK
from tests.stack import Stack

PATHS = ("/jobs", "/scraping/async-scrape", "/jobs/preview", "/jobs/sessions")


@pytest.mark.parametrize("name", HOSTILE_BODIES)
def test_a_body_built_to_be_slow_is_answered_at_once(stack: Stack, name: str) -> None:
    for path in PATHS:
        began = time.monotonic()
        answer = ask(stack.url, post(path, HOSTILE_BODIES[name]))
        took_s = time.monotonic() - began
        assert took_s < 0.5 * SLACK, f"{path}: {took_s:.2f} s"
        assert answer.status in (200, 404, 422), answer.body[:200]


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded"])
def test_what_is_no_json_is_not_looked_at(stack: Stack, kind: str) -> None:
    """The form that any web site can send."""
    for body in (b'"' + b'\\"' * 24_000, b'{"' * 24_000, b"[" * 500_000):
        began = time.monotonic()
        assert ask(stack.url, post("/jobs", body, kind)).status == 415
        assert time.monotonic() - began < 0.5 * SLACK


def test_a_body_is_not_read_where_no_route_takes_it(stack: Stack) -> None:
    request = head("POST", "/nothing", "Content-Type: application/json", "Content-Length: 1000000")
    assert ask(stack.url, request).status == 404


@pytest.mark.parametrize(
    "request_head",
    [
        head("GET", "/jobs?" + "a&" * 15_000),
        head("GET", "/jobs?limit=" + "9" * 30_000),
        head("GET", "/jobs?cursor=" + "A" * 30_000),
        head("GET", "/jobs?" + "%" * 30_000),
        head("GET", "/jobs/" + "a" * 30_000),
        head("GET", "/jobs/" + "/" * 30_000),
        head("GET", "/static/" + "../" * 10_000),
        head("GET", "/jobs/intelligence/domain?url=http://" + "a." * 4_000),
        head("GET", "/jobs/intelligence/domain?url=http://[" + ":" * 8_000),
        head("GET", "/jobs", "Cookie: " + "a=b;" * 15_000),
        head("GET", "/jobs", "Authorization: Bearer " + " " * 60_000),
        head("GET", "/events/stream", "Last-Event-ID: " + "9" * 60_000),
        head("POST", "/jobs", "Content-Length: 2", "Content-Type: application/json" + ";a=b" * 15_000) + b"{}",
        head("POST", "/jobs", "Content-Length: 2", "Content-Type: application/json;" + '"\\' * 30_000) + b"{}",
        head("POST", "/jobs", "Content-Length: 0", "Idempotency-Key: " + "a" * 60_000),
        head("POST", "/jobs", "Content-Length: 0", "Origin: http://" + "[" * 60_000),
    ],
)
def test_a_head_built_to_be_slow_is_answered_at_once(stack: Stack, request_head: bytes) -> None:
    began = time.monotonic()
    answer = ask(stack.url, request_head)
    assert time.monotonic() - began < 0.5 * SLACK
    assert 200 <= answer.status < 500
