"""What is no HTML, leads elsewhere by itself, or says in a header what it wants of crawlers."""

import hashlib
from pathlib import Path

import pytest

from corral.domain.crawl.crawl import ItemState
from corral.domain.runs.run import RunState
from corral.wiring.app import App
from tests.cli.command import Corral
from tests.engine.crawl.crawling import crawl, reasons, start, wait_for_crawl
from tests.engine.crawl.site import Page, serve_site
from tests.engine.crawl.tasks import results, submit, wait_for_task
from tests.stack import Stack

_PDF = b"%PDF-1.7\n\0\x01\x02 some paper"


async def test_a_page_that_sends_its_reader_on_leads_to_a_page_of_the_same_depth(app: App) -> None:
    pages = {
        "/": Page(head='<meta http-equiv="refresh" content="0; url=/home">', links=["/beside"]),
        "/home": Page(["/one"]),
        "/one": Page(["/two"], head='<meta http-equiv="Refresh" content="30; URL=/later">'),
        "/later": Page(["/below"]),
        "/below": Page(),
        "/two": Page(),
        "/beside": Page(head='<meta http-equiv="refresh" content="0; url=/two">'),
        "/itself": Page(head='<meta http-equiv="refresh" content="5">'),
    }
    with serve_site(pages) as site:
        run, found, _ = await crawl(app, f"{site.url}/", max_depth=1)
        assert {path: record["depth"] for path, record in found.items()} == {
            "/home": 0,
            "/one": 1,
            "/later": 1,
            "/two": 1,
        }
        assert run.state is RunState.COMPLETED
        assert (await reasons(app, run.id))["meta_refresh"] == 2
        assert max(site.hits.values()) == 1
        run = await wait_for_crawl(app, await start(app, f"{site.url}/itself"))
        assert run.state is RunState.COMPLETED


@pytest.mark.parametrize("avoid_traps", [True, False])
async def test_a_redirect_to_a_far_date_is_a_trap_only_where_these_count(app: App, avoid_traps: bool) -> None:
    far = "/calendar/2999-01-01"
    pages = {
        "/": Page(["/calendar/2026-01-01"]),
        "/calendar/2026-01-01": Page(head=f'<meta http-equiv="refresh" content="0; url={far}">'),
        far: Page(),
    }
    with serve_site(pages) as site:
        run, found, _ = await crawl(app, f"{site.url}/", avoid_traps=avoid_traps)
    assert (far in found, run.state) == (not avoid_traps, RunState.PARTIAL if avoid_traps else RunState.COMPLETED)


async def test_headers_ask_of_crawlers_what_meta_elements_do(app: App) -> None:
    pages = {
        "/": Page(["/secret", "/shy", "/others"]),
        "/secret": Page(["/behind"], headers={"X-Robots-Tag": "noindex"}),
        "/shy": Page(["/never"], headers={"X-Robots-Tag": "corral: nofollow"}),
        "/others": Page(["/fine"], headers={"X-Robots-Tag": "googlebot: noindex, nofollow"}),
        "/behind": Page(),
        "/never": Page(),
        "/fine": Page(),
    }
    with serve_site(pages) as site:
        run, found, _ = await crawl(app, f"{site.url}/")
        assert set(found) == {"/", "/shy", "/others", "/behind", "/fine"}
        assert await reasons(app, run.id) == {"noindex": 1, "nofollow": 1}
        _, found, _ = await crawl(app, f"{site.url}/", obey_noindex=False, follow_nofollow=True)
        assert set(found) == set(pages)


async def test_texts_data_and_feeds_have_text_and_lead_on(app: App) -> None:
    def of(content_type: str, text: str) -> Page:
        return Page(raw=text, headers={"content-type": content_type})

    rss = """<?xml version="1.0"?><rss><channel><title>News</title><link>{0}/</link><item><title>A day</title>
        <link>{0}/day</link><description>Rain &amp; sun</description></item></channel></rss>"""
    atom = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Log</title>
        <entry><title>An entry</title><link href="/entry"/></entry></feed>"""
    pages = {
        "/": Page(["/plain.txt", "/data", "/feed", "/atom"], raw=None),
        "/plain.txt": Page(),
        "/data": of("application/json; charset=utf-8", '{"name": "Lamp", "next": "/data2", "to": ["/no/link"]}'),
        "/data2": of("application/vnd.api+json", "[]"),
        "/feed": Page(),
        "/atom": of("application/atom+xml", atom),
        "/day": Page(),
        "/entry": Page(),
        "/(told)": Page(),
        "/frame": Page(),
    }
    pages["/"].text = "<iframe src=/frame></iframe> a page with a frame"
    with serve_site(pages) as site:
        pages["/plain.txt"].raw = f"First line\nSee {site.url}/(told), or not."
        pages["/plain.txt"].headers = {"content-type": "text/plain"}
        pages["/feed"].raw = rss.format(site.url)
        pages["/feed"].headers = {"content-type": "application/rss+xml"}
        run, found, _ = await crawl(app, f"{site.url}/", links=True)
        assert run.state is RunState.COMPLETED
        assert set(found) == set(pages)
        assert found["/plain.txt"]["full_text"].startswith("First line\nSee ")
        assert '"Lamp"' in found["/data"]["text"]
        assert (found["/feed"]["title"], "Rain & sun" in found["/feed"]["full_text"]) == ("News", True)
        assert (found["/atom"]["title"], found["/atom"]["word_count"]) == ("Log", 3)
        assert found["/day"]["http_status"] == 200
        assert found["/feed"]["outlinks"] == [f"{site.url}/", f"{site.url}/day"]
        assert f"{site.url}/frame" in found["/"]["outlinks"]


async def test_files_are_listed_and_kept_where_that_is_asked_for(app: App) -> None:
    pages = {
        "/": Page(["/paper.pdf", "/download?id=1", "/sheet", "/lost", "/hidden"]),
        "/paper.pdf": Page(raw=_PDF, headers={"content-type": "application/pdf"}),
        "/download?id=1": Page(raw=b"\0\1\2", headers={"content-type": "application/octet-stream"}),
        "/sheet": Page(
            raw=b"PK\3\4", headers={"content-type": "application/vnd.openxmlformats-officedocument.wordprocessingml"}
        ),
        "/lost": Page(status=500, raw=b"", headers={"content-type": "application/pdf"}),
        "/hidden": Page(raw=b"x", headers={"content-type": "image/png", "X-Robots-Tag": "noindex"}),
    }
    with serve_site(pages) as site:
        run, found, counts = await crawl(app, f"{site.url}/", retry_attempts=1)
        assert set(found) == {"/"}
        assert ((await reasons(app, run.id))["not_a_page"], counts.failed) == (4, 1)
        skipped = await app.store.crawls.items(run.id, ItemState.SKIPPED, 0, 10)
        assert any("save_files" in (each.message or "") for each in skipped)
        run, found, _ = await crawl(app, f"{site.url}/", save_files=True, retry_attempts=1)
        assert set(found) == {"/", "/paper.pdf", "/download?id=1", "/sheet"}
        paper = found["/paper.pdf"]
        assert (paper["content_type"], paper["size"], paper["http_status"]) == ("application/pdf", len(_PDF), 200)
        assert paper["sha256"] == hashlib.sha256(_PDF).hexdigest()
        assert Path(paper["path"]).read_bytes() == _PDF
        assert run.id in paper["path"]
        assert Path(paper["path"]).name.endswith("-paper.pdf")
        assert (await reasons(app, run.id))["noindex"] == 1


def test_files_are_kept_on_the_command_line(corral: Corral) -> None:
    pages = {"/": Page(["/a.pdf"]), "/a.pdf": Page(raw=_PDF, headers={"content-type": "application/pdf"})}
    with serve_site(pages) as site:
        done = corral("crawl", f"{site.url}/", "--save-files", "--links", "--json")
        assert done.code == 0, done.err
        records = corral("records", done.json["run"]["id"], "--json").json
    by_url = {record["url"].removeprefix(site.url): record for record in (each.get("data", each) for each in records)}
    assert Path(by_url["/a.pdf"]["path"]).read_bytes() == _PDF
    assert by_url["/"]["outlinks"] == [f"{site.url}/a.pdf"]


def test_a_kept_file_can_be_had_over_http(stack: Stack) -> None:
    pages = {"/": Page(["/a.pdf"]), "/a.pdf": Page(raw=_PDF, headers={"content-type": "application/pdf"})}
    with serve_site(pages) as site:
        task = submit(stack, f"{site.url}/", save_files=True, links=True)
        assert wait_for_task(stack, task)["status"] == "completed"
        [record] = [each for each in results(stack, task)["results"] if each.get("sha256")]
    name = record["path"].rpartition("/")[2]
    answer = stack.client.get(f"/jobs/runs/{task}/files/{name}")
    assert (answer.status_code, answer.content) == (200, _PDF)
    assert answer.headers["content-disposition"].startswith("attachment")
    for other in ("nothing", "..%2f..%2fcorral.db", f"{name}x"):
        assert stack.client.get(f"/jobs/runs/{task}/files/{other}").status_code == 404
