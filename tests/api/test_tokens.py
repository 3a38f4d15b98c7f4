from collections.abc import Iterator

import httpx
import pytest

from corral.api.guard.allowed_hosts import is_ours
from corral.settings import Settings
from tests.stack import Stack, corral_up

READ, WRITE = "a-token-that-may-read", "a-token-that-may-write"


@pytest.fixture(scope="module")
def token_stack(site: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("tokens")
    with corral_up(folder, site, APP_READ_TOKEN=READ, APP_WRITE_TOKEN=WRITE) as running:
        yield running


def _request_status(stack: Stack, token: str | None, method: str, path: str) -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.request(method, stack.url + path, headers=headers, timeout=10).status_code


def test_only_health_and_the_dashboard_are_public(token_stack: Stack) -> None:
    schema = token_stack.client.get("/openapi.json").json()
    for path, methods in schema["paths"].items():
        for method in methods:
            concrete = path.replace("{job_id}", "x").replace("{run_id}", "x").replace("{record_id}", "x")
            expected_public = path in ("/health", "/ready")
            status = _request_status(token_stack, None, method.upper(), concrete)
            assert (status != 401) == expected_public, f"{method} {path} answered {status} without a token"
    assert _request_status(token_stack, None, "GET", "/") == 200
    assert _request_status(token_stack, None, "GET", "/docs") == 200
    assert _request_status(token_stack, None, "GET", "/metrics") == 401
    assert _request_status(token_stack, None, "GET", "/openapi.json") == 401


def test_a_read_token_reads_and_a_write_token_writes(token_stack: Stack) -> None:
    assert _request_status(token_stack, READ, "GET", "/jobs") == 200
    assert _request_status(token_stack, READ, "POST", "/jobs") == 403
    assert _request_status(token_stack, WRITE, "POST", "/jobs") == 422
    assert _request_status(token_stack, "wrong-token-wrong-token", "GET", "/jobs") == 401
    assert httpx.get(f"{token_stack.url}/jobs?token={READ}", timeout=10).status_code == 401


@pytest.mark.parametrize(
    "host, is_there",
    [
        ("127.0.0.1:8000", True),
        ("[::1]:8000", True),
        ("LOCALHOST:1", True),
        ("corral.localhost", True),
        ("corral:8000", True),
        ("Corral.Example:8000", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example:8000", False),
        ("localhost.evil.example", False),
        ("other.corral.example", False),
    ],
)
def test_which_names_are_ours(host: str, is_there: bool) -> None:
    assert is_ours(host, Settings(allowed_hosts=" Corral.example, other").allowed_hosts) is is_there


@pytest.mark.parametrize("method, path", [("GET", "/jobs"), ("POST", "/jobs"), ("GET", "/")])
def test_without_a_token_only_our_own_names_are_answered_to(stack: Stack, method: str, path: str) -> None:
    refused = stack.client.request(method, path, headers={"Host": "evil.example"})
    assert (refused.status_code, refused.json()["error"]["field"]) == (403, "Host")
    assert stack.client.request(method, path, headers={"Host": "localhost:8000"}).status_code != 403


def test_with_a_token_any_name_will_do(token_stack: Stack) -> None:
    headers = {"Host": "corral.example", "Authorization": f"Bearer {READ}"}
    assert httpx.get(f"{token_stack.url}/jobs", headers=headers).status_code == 200


def test_a_method_that_is_not_there_is_told_which_are(stack: Stack) -> None:
    answer = stack.client.put("/jobs")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD, POST")
