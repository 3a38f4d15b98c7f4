"""A client that sends too much is told to wait; others are not."""

import itertools
import socket
from pathlib import Path
from urllib.parse import urlsplit

from tests.api.http.wire import Answer, head, post, read_answer
from tests.slack import SLACK
from tests.stack import Stack, corral_up

_ADDRESSES = (f"127.0.7.{number}" for number in itertools.count(1))


def ask_from(source: str, url: str, requests: list[bytes]) -> list[Answer]:
    """Each on the same connection, from an address of this machine."""
    address = urlsplit(url)
    with socket.create_connection((address.hostname, address.port), 20 * SLACK, (source, 0)) as client:
        answers = []
        for request in requests:
            client.sendall(request)
            answers.append(read_answer(client))
    return answers


def test_writes_beyond_the_burst_are_429_and_say_how_long_to_wait(small: Stack) -> None:
    source = next(_ADDRESSES)
    answers = ask_from(source, small.url, [post("/jobs", b"{}")] * 30)
    assert {answer.status for answer in answers[:20]} == {422}
    late = answers[-1]
    assert (late.status, late.error["code"]) == (429, "rate_limited")
    assert late.headers["retry-after"] == "1"
    assert ask_from(source, small.url, [head("GET", "/health")] * 50)[-1].status == 200
    assert ask_from(next(_ADDRESSES), small.url, [post("/jobs", b"{}")])[0].status == 422


def test_reads_have_a_limit_of_their_own(small: Stack) -> None:
    source = next(_ADDRESSES)
    answers = ask_from(source, small.url, [head("GET", "/jobs")] * 50)
    assert {answer.status for answer in answers[:40]} == {200}
    assert answers[-1].status == 429
    assert ask_from(source, small.url, [post("/jobs", b"{}")])[0].status == 422


def test_what_is_refused_counts_and_nothing_is_written(small: Stack) -> None:
    """A flood of runs: each answer is either a run that exists, or a 429."""
    job = small.job()
    source = next(_ADDRESSES)
    answers = ask_from(source, small.url, [head("POST", f"/jobs/{job['id']}/runs", "Content-Length: 0")] * 40)
    accepted = [answer for answer in answers if answer.status == 200]
    assert {answer.status for answer in answers} == {200, 429}
    assert len(small.client.get(f"/jobs/{job['id']}/runs?limit=200").json()) == len(accepted)


def test_a_token_has_a_limit_of_its_own_and_a_forged_address_has_none(site: str, tmp_path: Path) -> None:
    token = "a-token-of-thirty-two-characters"
    limits = {"APP_API_READ_RATE": "1", "APP_API_READ_BURST": "5"}
    with corral_up(tmp_path, site, "serve", APP_WRITE_TOKEN=token, **limits) as stack:
        source = next(_ADDRESSES)
        unknown = ask_from(source, stack.url, [head("GET", "/jobs")] * 8)
        assert [answer.status for answer in unknown] == [401] * 5 + [429] * 3
        known = ask_from(source, stack.url, [head("GET", "/jobs", f"Authorization: Bearer {token}")] * 5)
        assert {answer.status for answer in known} == {200}
        names = [(f"X-Forwarded-For: 10.0.0.{number}", f"Forwarded: for=10.1.1.{number}") for number in range(8)]
        forged = ask_from("127.0.0.1", stack.url, [head("GET", "/jobs", *headers) for headers in names])
        assert forged[-1].status == 429
