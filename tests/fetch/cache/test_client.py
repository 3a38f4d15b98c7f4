"""Answers from disk: which are used, which are asked about, and what becomes of a damaged one."""

import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corral.domain.net.http_cache import CacheMode, StoredPage
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Failed, Fetched, Outcome
from corral.domain.runs.payload.stored import Payload
from corral.domain.sites.session import parse_session
from corral.fetch.api_replay import ApiReplayExecutor
from corral.fetch.cache.client import CacheRequest, PageCache
from corral.fetch.cache.disk import DiskCache, TooLarge
from corral.fetch.egress.client import Egress
from corral.fetch.http import HttpExecutor
from corral.fetch.probe import probe
from corral.fetch.robots import Robots
from tests.fetch.hostile import ROUTES, Hostile, Request

MAX_BYTES = 10 * 1024 * 1024


class Page:
    """A page whose answer can be changed between two requests."""

    def __init__(self) -> None:
        self.title = "First"
        self.headers: list[str] = []
        self.etag: str | None = None
        self.status = "200 OK"

    async def route(self, request: Request) -> None:
        told = [*self.headers, *([f"ETag: {self.etag}"] if self.etag else [])]
        if self.etag and f"if-none-match: {self.etag}" in request.head.lower():
            await request.answer(b"", *told, status="304 Not Modified")
            return
        body = f"<title>{self.title}</title>".encode()
        await request.answer(body, "Content-Type: text/html", *told, status=self.status)


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    made = Page()
    monkeypatch.setitem(ROUTES, "/cached", made.route)
    return made


def a_task(url: str, **more: Any) -> Task:
    payload = {"url": url, "fields": [{"name": "title"}], "respect_robots": False, **more}
    return Task("run", 1, "page", "http", 1, Payload(payload), 10)


def an_executor(egress: Egress, folder: Path, mode: CacheMode, **more: Any) -> HttpExecutor:
    cache = PageCache(DiskCache(folder, MAX_BYTES), mode, **more)
    return HttpExecutor(egress, Robots(egress, "corral-test"), cache=cache)


def title_and_cache(outcome: Outcome) -> tuple[str, str]:
    assert isinstance(outcome, Fetched), outcome
    return outcome.records[0]["title"], outcome.stats["cache"]


async def test_what_is_fresh_is_answered_without_a_connection(
    egress: Egress, hostile: Hostile, page: Page, tmp_path: Path
) -> None:
    http = an_executor(egress, tmp_path, CacheMode.REVALIDATE)
    page.headers = ["Cache-Control: max-age=600"]
    first = await http.execute(a_task(hostile.url("/cached")))
    assert title_and_cache(first) == ("First", "miss")
    page.title = "Second"
    again = await http.execute(a_task(hostile.url("/cached")))
    assert title_and_cache(again) == ("First", "hit")
    assert isinstance(again, Fetched)
    assert (again.stats["cost"], again.stats["bytes"]) == (0, 0)
    assert hostile.count_requests("/cached") == 1


async def test_what_is_stale_is_asked_about(egress: Egress, hostile: Hostile, page: Page, tmp_path: Path) -> None:
    http = an_executor(egress, tmp_path, CacheMode.REVALIDATE)
    page.etag = '"one"'
    task = a_task(hostile.url("/cached"))
    assert title_and_cache(await http.execute(task)) == ("First", "miss")
    assert title_and_cache(await http.execute(task)) == ("First", "revalidated")
    assert 'if-none-match: "one"' in hostile.heads[-1].lower()
    page.etag, page.title = '"two"', "Second"
    assert title_and_cache(await http.execute(task)) == ("Second", "miss")
    assert title_and_cache(await http.execute(task)) == ("Second", "revalidated")
    assert hostile.count_requests("/cached") == 4


async def test_a_304_makes_it_fresh_for_as_long_as_it_says(
    egress: Egress, hostile: Hostile, page: Page, tmp_path: Path
) -> None:
    http = an_executor(egress, tmp_path, CacheMode.REVALIDATE)
    page.etag = '"one"'
    task = a_task(hostile.url("/cached"))
    await http.execute(task)
    page.headers = ["Cache-Control: max-age=600"]
    assert title_and_cache(await http.execute(task)) == ("First", "revalidated")
    assert title_and_cache(await http.execute(task)) == ("First", "hit")


@pytest.mark.parametrize("header", ["Cache-Control: no-store, max-age=600", "Vary: *"])
async def test_what_may_not_be_kept_is_fetched_each_time(
    egress: Egress, hostile: Hostile, page: Page, tmp_path: Path, header: str
) -> None:
    http = an_executor(egress, tmp_path, CacheMode.REVALIDATE)
    page.headers = [header, 'ETag: "x"']
    for _ in range(2):
        assert title_and_cache(await http.execute(a_task(hostile.url("/cached")))) == ("First", "miss")
    assert "if-none-match" not in hostile.heads[-1].lower()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


async def test_a_304_behind_a_redirect_is_about_another_page(
    egress: Egress, hostile: Hostile, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    http = an_executor(egress, tmp_path, CacheMode.REVALIDATE)
    page.etag = '"one"'
    assert title_and_cache(await http.execute(a_task(hostile.url("/cached")))) == ("First", "miss")
    page.title = "Elsewhere"

    async def send_redirect(request: Request) -> None:
        await request.redirect(b"/elsewhere")

    monkeypatch.setitem(ROUTES, "/elsewhere", page.route)
    monkeypatch.setitem(ROUTES, "/cached", send_redirect)
    assert title_and_cache(await http.execute(a_task(hostile.url("/cached")))) == ("Elsewhere", "miss")


async def test_a_replay_asks_nobody_twice_not_even_for_robots(
    egress: Egress, hostile: Hostile, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.headers = ["Cache-Control: no-store"]

    async def send_redirect(request: Request) -> None:
        await request.redirect(b"/cached")

    monkeypatch.setitem(ROUTES, "/moved", send_redirect)
    task = a_task(hostile.url("/moved"), respect_robots=True)
    assert title_and_cache(await an_executor(egress, tmp_path, CacheMode.REPLAY).execute(task)) == ("First", "miss")
    connections = hostile.connections
    again = await an_executor(egress, tmp_path, CacheMode.REPLAY).execute(task)
    assert title_and_cache(again) == ("First", "hit")
    assert isinstance(again, Fetched)
    assert (again.stats["final_url"], again.stats["redirects"]) == (hostile.url("/cached"), 1)
    looked = await probe(
        egress, hostile.url("/moved"), [], cache=PageCache(DiskCache(tmp_path, MAX_BYTES), CacheMode.REPLAY)
    )
    assert (looked.status, looked.failure) == (200, None)
    assert hostile.connections == connections


async def test_a_refusal_is_not_replayed(egress: Egress, hostile: Hostile, page: Page, tmp_path: Path) -> None:
    http = an_executor(egress, tmp_path, CacheMode.REPLAY)
    page.status = "403 Forbidden"
    assert isinstance(await http.execute(a_task(hostile.url("/cached"))), Failed)
    page.status = "200 OK"
    assert title_and_cache(await http.execute(a_task(hostile.url("/cached")))) == ("First", "miss")


async def test_a_run_with_a_login_neither_finds_nor_leaves_anything(
    egress: Egress, hostile: Hostile, page: Page, tmp_path: Path
) -> None:
    http = an_executor(egress, tmp_path, CacheMode.REPLAY)
    state = parse_session(hostile.url("/"), [{"name": "sid", "value": "my-own-secret"}])
    known = replace(a_task(hostile.url("/cached")), session=state)
    outcome = await http.execute(known)
    assert isinstance(outcome, Fetched)
    assert "cache" not in outcome.stats
    assert list(tmp_path.iterdir()) == []
    assert title_and_cache(await http.execute(a_task(hostile.url("/cached")))) == ("First", "miss")
    page.title = "For me alone"
    outcome = await http.execute(known)
    assert isinstance(outcome, Fetched)
    assert outcome.records[0]["title"] == "For me alone"


async def test_whoever_may_reach_less_is_not_shown_what_others_reached(
    egress: Egress, hostile: Hostile, page: Page, tmp_path: Path
) -> None:
    http = an_executor(egress, tmp_path, CacheMode.REPLAY, policy="one")
    typed = a_task(hostile.url("/cached"), trusted_hosts=["127.0.0.1"])
    assert title_and_cache(await http.execute(typed)) == ("First", "miss")
    assert title_and_cache(await http.execute(typed)) == ("First", "hit")
    posted = a_task(hostile.url("/cached"))
    assert title_and_cache(await http.execute(posted)) == ("First", "miss")
    other = an_executor(egress, tmp_path, CacheMode.REPLAY, policy="two")
    assert title_and_cache(await other.execute(posted)) == ("First", "miss")
    polite = a_task(hostile.url("/cached"), respect_robots=True)
    assert title_and_cache(await http.execute(polite)) == ("First", "miss")


async def test_without_a_cache_nothing_is_said_of_one(
    egress: Egress, hostile: Hostile, page: Page, tmp_path: Path
) -> None:
    http = an_executor(egress, tmp_path, CacheMode.OFF)
    page.headers = ["Cache-Control: max-age=600"]
    for _ in range(2):
        outcome = await http.execute(a_task(hostile.url("/cached")))
        assert isinstance(outcome, Fetched)
        assert "cache" not in outcome.stats
    assert (hostile.count_requests("/cached"), list(tmp_path.iterdir())) == (2, [])


async def test_a_body_from_disk_is_held_to_the_same_limit(
    egress: Egress, hostile: Hostile, page: Page, tmp_path: Path
) -> None:
    page.title = "x" * 5000
    page.headers = ["Cache-Control: max-age=600"]
    await an_executor(egress, tmp_path, CacheMode.REVALIDATE).execute(a_task(hostile.url("/cached")))
    smaller = an_executor(egress, tmp_path, CacheMode.REVALIDATE, max_bytes=1000)
    outcome = await smaller.execute(a_task(hostile.url("/cached")))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.detail) == ("limit", "body_too_large")
    assert hostile.count_requests("/cached") == 1


async def test_a_recipe_is_replayed_from_disk_too(
    egress: Egress, hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def data(request: Request) -> None:
        await request.answer(b'{"name": "A saw"}', "Content-Type: application/json", "Cache-Control: max-age=600")

    monkeypatch.setitem(ROUTES, "/api/1", data)
    recipe = {
        "id": "r",
        "version": 1,
        "url_pattern": "/shop/*",
        "calls": [{"method": "GET", "url": "{origin}/api/1", "headers": {}}],
        "fields": {"name": {"call": 0, "value": "{$.name}"}},
    }
    task = a_task(hostile.url("/shop/1"), fields=[{"name": "name"}], recipe=recipe)
    cache = PageCache(DiskCache(tmp_path, MAX_BYTES), CacheMode.REVALIDATE)
    replay = ApiReplayExecutor(egress, Robots(egress, "corral-test"), cache=cache)
    uses = []
    for _ in range(2):
        outcome = await replay.execute(task)
        assert isinstance(outcome, Fetched), outcome
        assert outcome.records == ({"name": "A saw"},)
        uses.append((outcome.stats["cache"], outcome.stats["cost"]))
    assert uses == [("miss", 1), ("hit", 0)]
    assert hostile.count_requests("/api/1") == 1


# -- the disk ---------------------------------------------------------------------------------------------


def a_stored_page(body: bytes = b"body", url: str = "http://a.test/") -> StoredPage:
    return StoredPage(url, 200, (("etag", '"a"'),), body, (), 1.0, (("accept", "*/*"),))


def key(number: int) -> str:
    return CacheRequest(f"http://a.test/{number}").key("")


def test_what_is_written_is_read_and_private(tmp_path: Path) -> None:
    disk = DiskCache(tmp_path / "cache", MAX_BYTES)
    assert disk.read(key(1), MAX_BYTES) is None
    disk.write(key(1), a_stored_page())
    assert disk.read(key(1), MAX_BYTES) == a_stored_page()
    [file] = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_damaged_entry_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    disk = DiskCache(tmp_path, MAX_BYTES)
    disk.write(key(1), a_stored_page(b"x" * 300))
    [file] = [path for path in tmp_path.rglob("*") if path.is_file()]
    whole = file.read_bytes()
    for damaged in (
        b"",
        b"\n",
        whole[:40],
        whole[:-1],
        whole + b"x",
        whole[:100] + bytes([whole[100] ^ 1]) + whole[101:],
        whole[:-50] + b"y" + whole[-49:],
        b"{}\n" + whole,
    ):
        file.write_bytes(damaged)
        assert disk.read(key(1), MAX_BYTES) is None
        assert not file.exists()
    disk.write(key(1), a_stored_page())
    assert disk.read(key(1), MAX_BYTES) == a_stored_page()


def test_too_large_a_body_is_not_even_read(tmp_path: Path) -> None:
    disk = DiskCache(tmp_path, MAX_BYTES)
    disk.write(key(1), a_stored_page(b"x" * 1000))
    with pytest.raises(TooLarge, match="1000 bytes"):
        disk.read(key(1), 999)


def test_the_least_recently_used_make_room(tmp_path: Path) -> None:
    disk = DiskCache(tmp_path, 100_000)
    for number in range(50):
        disk.write(key(number), a_stored_page(b"x" * 5000))
        disk.read(key(0), MAX_BYTES)
    sizes = [path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()]
    assert 50_000 < sum(sizes) <= 100_000 + 100_000 / 16 + 6000
    assert disk.read(key(0), MAX_BYTES) is not None, "it was used all the time"
    assert disk.read(key(49), MAX_BYTES) is not None
    assert disk.read(key(1), MAX_BYTES) is None


WRITER = """
    import sys
    from pathlib import Path
    from corral.domain.net.http_cache import StoredPage
    from corral.fetch.cache.disk import DiskCache

    disk = DiskCache(Path(sys.argv[1]), 300_000)
    read = 0
    for turn in range(400):
        key = f"{turn % 7:064x}"
        body = f"{sys.argv[2]}-{turn}-".encode() * 2000
        disk.write(key, StoredPage("http://a.test/", 200, (), body, (), 1.0, ()))
        page = disk.read(f"{(turn + 3) % 7:064x}", 10**7)
        if page is not None:
            read += 1
            assert page.body == page.body[: len(page.body) // 2000] * 2000, "torn"
    assert read >= 390, f"{read} of 400: a reader met half of a page"
"""


def test_several_processes_share_it_without_tearing_anything(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(tmp_path)]
    writers = [subprocess.Popen([*command, name]) for name in ("one", "two", "three")]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert not list(tmp_path.rglob("*.part"))
