"""Jobs with a proxy, over HTTP and from the command line: what is kept, what is shown, what is done."""

import base64
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any

import httpx
import psycopg
import pytest

from tests.cli.command import Corral
from tests.services.ports import free_port
from tests.stack import Stack

PASSWORD = "canary-of-a-proxy"


class Proxy(ThreadingTCPServer):
    """Answers for the site by itself: what comes from it did not come from there."""

    daemon_threads = True
    allow_reuse_address = True
    heads: list[str]


class Handler(BaseRequestHandler):
    def handle(self) -> None:
        server = self.server
        assert isinstance(server, Proxy)
        head = self._head()
        server.heads.append(head)
        token = base64.b64encode(f"user:{PASSWORD}".encode()).decode()
        if f"Basic {token}" not in head:
            self.request.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return
        self.request.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        path = self._head().split(" ")[1]
        body = b"<title>Through the proxy</title>" if "robots" not in path else b""
        told = f"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.request.sendall(told.encode() + body)

    def _head(self) -> str:
        head = b""
        while not head.endswith(b"\r\n\r\n") and (piece := self.request.recv(1)):
            head += piece
        return head.decode("latin-1")


@contextmanager
def a_proxy() -> Iterator[Proxy]:
    with Proxy(("127.0.0.1", 0), Handler) as server:
        server.heads = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with a_proxy() as running:
        yield running


def address(proxy: Proxy, password: str = PASSWORD) -> str:
    return f"http://user:{password}@127.0.0.1:{proxy.server_address[1]}"


def read_database(stack: Stack) -> str:
    """Everything in the database that could hold it."""
    url = stack.environment.get("APP_DATABASE_URL")
    query = "SELECT document FROM jobs UNION ALL SELECT payload FROM runs UNION ALL SELECT meta FROM events"
    if url is None:
        with sqlite3.connect(f"file:{stack.data_dir}/corral.db?mode=ro", uri=True) as database:
            return str(database.execute(query).fetchall())
    with psycopg.connect(url) as connection:
        return str(connection.execute(query).fetchall())


def create_job(stack: Stack, policy: str, **more: Any) -> dict[str, Any]:
    return stack.job("/articles", proxy_policy=policy, max_attempts=1, **more)


def test_a_job_with_a_proxy_is_fetched_through_it_and_shows_no_password(stack: Stack, proxy: Proxy) -> None:
    proxy.heads.clear()
    # `auto`: no probe goes to the site, because a probe would go directly.
    job = create_job(stack, address(proxy), strategy="auto")
    shown = f"http://***@127.0.0.1:{proxy.server_address[1]}"
    assert job["proxy_policy"] == shown
    assert proxy.heads == []
    run = stack.wait_for_end(stack.start(job)["id"])
    assert (run["status"], run["stats"]["title"], run["stats"]["proxy"]) == ("completed", "Through the proxy", shown)
    assert run["resolved_strategy"] == "http"
    assert all(head.startswith(f"CONNECT {stack.site.removeprefix('http://')} ") for head in proxy.heads)
    assert len(proxy.heads) == 2, "robots.txt and the page"
    told = stack.client.get(f"/jobs/{job['id']}").text + stack.client.get(f"/jobs/runs/{run['id']}/events").text
    assert PASSWORD not in told + read_database(stack) + stack.log.read_text()
    assert shown in read_database(stack) or "127.0.0.1" in read_database(stack)


def test_neither_the_job_nor_its_run_is_probed_directly(stack: Stack, proxy: Proxy) -> None:
    # The page counts its visits.
    path = f"/flaky?fail=0&key=proxied-{stack.url.rpartition(':')[2]}"
    job = stack.job(path, proxy_policy=address(proxy), strategy="auto", max_attempts=1)
    run = stack.wait_for_end(stack.start(job)["id"])
    assert run["stats"]["title"] == "Through the proxy"
    assert "Answered at visit 1." in httpx.get(stack.site + path).text


def test_a_clone_and_a_retry_go_the_same_way(stack: Stack, proxy: Proxy) -> None:
    job = create_job(stack, address(proxy))
    clone = stack.client.post(f"/jobs/{job['id']}/clone").json()
    assert clone["proxy_policy"] == job["proxy_policy"]
    run = stack.wait_for_end(stack.start(clone)["id"])
    assert run["stats"]["title"] == "Through the proxy"
    again = stack.client.post(f"/jobs/runs/{run['id']}/retry").json()
    assert stack.wait_for_end(again["id"])["stats"]["title"] == "Through the proxy"


def test_a_proxy_that_refuses_us_fails_the_run_and_nothing_goes_directly(stack: Stack, proxy: Proxy) -> None:
    run = stack.wait_for_end(stack.start(create_job(stack, address(proxy, "another-canary")))["id"])
    assert (run["status"], run["failure_code"], run["failure_detail"]) == ("failed", "network", "proxy")
    assert "407" in run["error_message"]
    dead = stack.wait_for_end(stack.start(create_job(stack, f"http://127.0.0.1:{free_port()}"))["id"])
    assert (dead["failure_code"], dead["failure_detail"]) == ("network", "proxy")


def test_a_proxy_is_set_changed_and_taken_away(stack: Stack, proxy: Proxy) -> None:
    job = stack.job("/articles", max_attempts=1)
    assert job["proxy_policy"] is None
    where = f"/jobs/{job['id']}"
    changed = stack.client.patch(where, json={"proxy_policy": address(proxy)}).json()
    assert changed["proxy_policy"].startswith("http://***@")
    assert stack.wait_for_end(stack.start(job)["id"])["stats"]["title"] == "Through the proxy"
    assert stack.client.patch(where, json={"priority": "high"}).json()["proxy_policy"] == changed["proxy_policy"]
    assert stack.client.patch(where, json={"proxy_policy": "direct"}).json()["proxy_policy"] == "direct"
    run = stack.wait_for_end(stack.start(job)["id"])
    assert (run["stats"]["title"], "proxy" in run["stats"]) == ("Articles, page 1 of 6", False)
    assert stack.client.patch(where, json={"proxy_policy": None}).json()["proxy_policy"] is None


@pytest.mark.parametrize(
    "policy",
    [
        "residential",
        "",
        "http://canary-word@127.0.0.1:8080",
        "ftp://user:canary-word@127.0.0.1:8080",
        "http://user:canary-word@127.0.0.1",
        "http://user:canary-word@10.0.0.1:8080",
        "http://user:canary-word@169.254.169.254:80",
        ["canary-word"],
    ],
)
def test_what_is_no_usable_proxy_is_refused_by_name_and_not_repeated(stack: Stack, policy: Any) -> None:
    body = {"target_url": f"{stack.site}/articles", "fields": ["title"], "proxy_policy": policy}
    answer = stack.client.post("/jobs", json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["field"].startswith("proxy_policy")
    assert "canary-word" not in answer.text


def test_rotating_the_keys_keeps_proxies_open(stack: Stack, proxy: Proxy) -> None:
    job = create_job(stack, address(proxy))
    terminal = Corral(stack.data_dir.parent)
    before = read_database(stack)
    for _ in range(3):
        assert terminal("session", "rotate", "--json", **stack.environment).code == 0
    assert read_database(stack) != before
    run = stack.wait_for_end(stack.start(job)["id"])
    assert run["stats"]["title"] == "Through the proxy", run


def test_the_command_line_takes_a_proxy_from_a_file(stack: Stack, proxy: Proxy, tmp_path: Path) -> None:
    (tmp_path / "proxy").write_text(address(proxy) + "\n")
    terminal = Corral(tmp_path)
    allowed = {"APP_EGRESS_ALLOW": "127.0.0.0/8:*"}
    asked = ("scrape", f"{stack.site}/articles", "--fields", "title", "--strategy", "http", "--proxy", "@proxy")
    planned = terminal(*asked, "--dry-run", "--json", **allowed)
    assert planned.json["job"]["proxy_policy"].startswith("http://***@")
    assert not (tmp_path / "data").exists(), "a dry run makes no key"
    done = terminal(*asked, "--json", **allowed)
    assert done.code == 0, done.err
    assert done.json["records"] == [{"title": "Through the proxy"}]
    refused = terminal(*asked[:-1], "http://127.0.0.1:1", APP_EGRESS_ALLOW="")
    assert refused.code != 0
    assert "APP_EGRESS_ALLOW" in refused.err
