"""The demo site, over real HTTP."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from corral.demo import DEMO_JOBS, demo_jobs, running_site
from corral.demo.content import articles, products

SOURCE_ROOT = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture
async def site() -> AsyncIterator[httpx.AsyncClient]:
    async with running_site() as running, httpx.AsyncClient(base_url=running.url) as client:
        yield client


async def status_of(site: httpx.AsyncClient, path: str) -> int:
    return (await site.get(path)).status_code


async def test_every_link_on_the_index_leads_somewhere(site: httpx.AsyncClient) -> None:
    paths = re.findall(r'<td><a href="([^"]+)"', (await site.get("/")).text)
    interrupted = [path for path in paths if path == "/reset"]
    assert len(paths) > 20
    assert interrupted
    for path in paths:
        if path not in interrupted and not path.startswith("/slow"):
            assert await status_of(site, path.replace("&amp;", "&")) != 404 or path == "/missing"


async def test_the_list_is_walked_by_its_next_links_to_all_sixty_articles(site: httpx.AsyncClient) -> None:
    path: str | None = "/articles"
    found: list[str] = []
    page_count = 0
    while path:
        text = (await site.get(path)).text
        page_count += 1
        found += re.findall(r'<h2><a href="(/articles/[^"]+)"', text)
        following = re.search(r'<link rel="next" href="([^"]+)"', text)
        path = following.group(1) if following else None
    assert page_count == 6
    assert len(set(found)) == len(found) == 60


@pytest.mark.parametrize("page,status", [("6", 200), ("7", 404), ("0", 400), ("x", 400)])
async def test_only_existing_list_pages_are_served(site: httpx.AsyncClient, page: str, status: int) -> None:
    assert await status_of(site, f"/articles?page={page}") == status


async def test_an_article_describes_itself_in_every_usual_way(site: httpx.AsyncClient) -> None:
    article = articles()[20]
    text = (await site.get(f"/articles/{article.slug}")).text
    linked = re.search(r'<script type="application/ld\+json">(.*?)</script>', text)
    assert linked
    data = json.loads(linked.group(1))
    assert (data["@type"], data["headline"], data["author"]["name"], data["datePublished"]) == (
        "Article",
        article.title,
        article.author,
        article.published_on.isoformat(),
    )
    assert f"<title>{article.title}" in text
    assert f'<meta name="description" content="{article.description}">' in text
    assert f'<meta property="og:title" content="{article.title}">' in text
    assert f'rel="prev" href="/articles/{articles()[19].slug}"' in text
    assert f'rel="next" href="/articles/{articles()[21].slug}"' in text
    assert all(f"<li>{tag}</li>" in text for tag in article.tags)


async def test_the_first_and_last_article_have_one_neighbour(site: httpx.AsyncClient) -> None:
    first = (await site.get(f"/articles/{articles()[0].slug}")).text
    last = (await site.get(f"/articles/{articles()[-1].slug}")).text
    assert 'rel="prev"' not in first
    assert 'rel="next"' in first
    assert 'rel="prev"' in last
    assert 'rel="next"' not in last


async def test_the_shop_shell_holds_nothing_of_a_product(site: httpx.AsyncClient) -> None:
    product = products()[6]
    shell = (await site.get("/shop/7")).text
    assert '<div id="root" data-reactroot=""></div>' in shell
    assert product.name not in shell
    assert product.amount not in shell
    assert shell == (await site.get("/shop")).text
    assert "/api/products" in (await site.get("/static/shop.js")).text


async def test_the_product_api_pages_through_all_products(site: httpx.AsyncClient) -> None:
    path: str | None = "/api/products?page=1"
    items: list[dict[str, object]] = []
    while path:
        page = (await site.get(path)).json()
        items += page["items"]
        path = page["next"]
    assert [item["id"] for item in items] == list(range(1, 49))
    assert set(items[0]) == {"id", "name", "price", "stock", "rating", "description"}
    assert (await site.get("/api/products/7")).json() == items[6]
    assert await status_of(site, "/api/products/49") == 404


async def test_the_account_is_behind_a_wall_until_login(site: httpx.AsyncClient) -> None:
    wall = await site.get("/account")
    assert (wall.status_code, "Sign in to continue" in wall.text) == (200, True)
    assert await status_of(site, "/account?strict=1") == 401

    answer = await site.post("/login", data={"username": "demo", "password": "demo"})
    assert answer.status_code == 303
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert "Demo Reader" in (await site.get("/account")).text
    assert await status_of(site, "/account?strict=1") == 200

    await site.get("/logout")
    assert "Demo Reader" not in (await site.get("/account")).text


async def test_a_session_does_not_survive_logout_even_if_the_cookie_is_kept(site: httpx.AsyncClient) -> None:
    answer = await site.post("/login", data={"username": "demo", "password": "demo"})
    kept = {"Cookie": answer.headers["set-cookie"].split(";")[0]}
    await site.get("/logout")
    assert (await site.get("/account?strict=1", headers=kept)).status_code == 401


async def test_a_wrong_password_signs_nobody_in(site: httpx.AsyncClient) -> None:
    answer = await site.post("/login", data={"username": "demo", "password": "guess"})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "path,status",
    [
        ("/blocked", 403),
        ("/unauthorized", 401),
        ("/broken", 500),
        ("/gone", 410),
        ("/missing", 404),
        ("/nowhere", 404),
        ("/articles/", 404),
        ("/articles/no-such-article", 404),
        ("/private/secret", 200),
        ("/slow?seconds=61", 400),
        ("/slow?seconds=nan", 400),
        ("/large?bytes=52428801", 400),
        ("/limited?retry_after=%0d%0aX:1", 400),
    ],
)
async def test_status(site: httpx.AsyncClient, path: str, status: int) -> None:
    assert await status_of(site, path) == status


async def test_a_limited_page_refuses_each_key_twice(site: httpx.AsyncClient) -> None:
    answers = [await site.get("/limited?key=a") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [429, 429, 200]
    assert answers[0].headers["retry-after"] == "2"
    other = await site.get("/limited?key=b&retry_after=Wed, 21 Oct 2015 07:28:00 GMT")
    assert (other.status_code, other.headers["retry-after"]) == (429, "Wed, 21 Oct 2015 07:28:00 GMT")


async def test_a_flaky_page_recovers_per_key(site: httpx.AsyncClient) -> None:
    assert [await status_of(site, "/flaky?key=a") for _ in range(3)] == [503, 200, 200]
    assert [await status_of(site, "/flaky?key=b&fail=2") for _ in range(3)] == [503, 503, 200]
    assert [await status_of(site, "/flaky?key=c&after=1") for _ in range(3)] == [200, 503, 200]


async def test_a_slow_page_does_not_hold_up_the_others(site: httpx.AsyncClient) -> None:
    slow = asyncio.create_task(site.get("/slow?seconds=1"))
    await asyncio.sleep(0.1)
    assert await status_of(site, "/empty") == 200
    assert not slow.done()
    assert (await slow).status_code == 200


async def test_reset_drops_the_connection_in_the_middle_of_the_body(site: httpx.AsyncClient) -> None:
    received = bytearray()

    async def read_all(answer: httpx.Response) -> None:
        async for part in answer.aiter_bytes():
            received.extend(part)

    async with site.stream("GET", "/reset") as answer:
        with pytest.raises(httpx.RemoteProtocolError):
            await read_all(answer)
    assert 0 < len(received) < int(answer.headers["content-length"])


async def test_redirects_end_at_the_articles_after_exactly_so_many(site: httpx.AsyncClient) -> None:
    answer = await site.get("/redirect?n=4", follow_redirects=True)
    assert (len(answer.history), answer.url.path, answer.status_code) == (4, "/articles", 200)


async def test_a_redirect_loop_never_ends(site: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.TooManyRedirects):
        await site.get("/redirect-loop", follow_redirects=True)


async def test_empty_and_untitled_pages(site: httpx.AsyncClient) -> None:
    assert (await site.get("/empty")).content == b""
    untitled = (await site.get("/notitle")).text
    assert "<title" not in untitled
    assert "<h1" not in untitled


async def test_robots_and_sitemap(site: httpx.AsyncClient) -> None:
    assert "Disallow: /private" in (await site.get("/robots.txt")).text
    addresses = re.findall(r"<loc>([^<]+)</loc>", (await site.get("/sitemap.xml")).text)
    assert len(addresses) == 3 + 60 + 48
    assert await status_of(site, addresses[10]) == 200


@pytest.mark.parametrize("size_bytes", [0, 10, 80, 1000, 3_000_000])
async def test_a_large_page_is_exactly_as_large_as_asked(site: httpx.AsyncClient, size_bytes: int) -> None:
    body = (await site.get(f"/large?bytes={size_bytes}")).content
    assert len(body) == size_bytes
    if size_bytes >= 1000:
        assert body.endswith(b"</html>\n")


async def test_requests_are_counted_by_exact_path_and_forgotten_on_reset(site: httpx.AsyncClient) -> None:
    for path in ("/articles", "/articles?page=2", "/articles?page=2", "/flaky?key=a"):
        await site.get(path)
    counted = (await site.get("/_stats")).json()
    assert counted == {"total": 4, "paths": {"/articles": 1, "/articles?page=2": 2, "/flaky?key=a": 1}}

    assert (await site.post("/_reset")).status_code == 204
    assert (await site.get("/_stats")).json() == {"total": 0, "paths": {}}
    assert await status_of(site, "/flaky?key=a") == 503


async def test_two_sites_share_nothing() -> None:
    async with running_site() as one, running_site() as two, httpx.AsyncClient() as client:
        assert one.port != two.port
        await client.get(f"{one.url}/flaky")
        assert (await client.get(f"{two.url}/flaky")).status_code == 503


async def test_a_site_stops_promptly_with_a_request_in_flight() -> None:
    async with httpx.AsyncClient() as client, asyncio.timeout(5):
        async with running_site() as running:
            waiting = asyncio.create_task(client.get(f"{running.url}/slow?seconds=60"))
            await asyncio.sleep(0.2)
        await asyncio.wait([waiting])
        with pytest.raises(httpx.ConnectError):
            await client.get(running.url)


async def test_demo_jobs_aim_at_pages_of_the_site(site: httpx.AsyncClient) -> None:
    bodies = demo_jobs(str(site.base_url))
    expected = {"article": 200, "rate-limited": 429, "blocked": 403, "missing": 404}
    for job, body in zip(DEMO_JOBS, bodies, strict=True):
        assert set(body) == {
            "target_url", "fields", "strategy", "frequency", "priority", "max_attempts", "timeout_s"
        }  # fmt: skip
        assert await status_of(site, str(body["target_url"])) == expected.get(job.name, 200)
    assert len({job.name for job in DEMO_JOBS}) == len(DEMO_JOBS)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_the_command_says_where_it_serves_and_ends_cleanly(number: signal.Signals) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "corral.demo",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(SOURCE_ROOT)},
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(20):
        line = (await process.stdout.readline()).decode()
        async with httpx.AsyncClient() as client:
            assert (await client.get(line.removeprefix("demo site at ").strip())).status_code == 200
        process.send_signal(number)
        rest, errors = await process.communicate()
    assert (process.returncode, rest, errors) == (0, b"", b"")
