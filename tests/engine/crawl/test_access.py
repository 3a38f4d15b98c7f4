"""How the pages of a crawl are reached: logins, headers, cookies, user agent, delay, proxy, certificates."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from corral.fetch.browser.launch_args import find_chromium
from tests.cli.command import Corral
from tests.engine.crawl.site import Page, Site, serve_site
from tests.engine.crawl.tasks import results, submit, wait_for_task
from tests.slack import SLACK
from tests.stack import Stack


@dataclass
class Guarded(Site):
    """Answers with its pages to those who have the cookie, and asks everybody else to log in."""

    cookie: str = "sid=good"
    asked: list[Mapping[str, str]] = field(default_factory=list)

    def answer_to(self, path: str, asked: Mapping[str, str]) -> tuple[int, Mapping[str, str], str | bytes]:
        self.asked.append(asked)
        if self.cookie and self.cookie not in asked.get("cookie", "") and path != "/robots.txt":
            return 401, {}, "<title>Login</title><p>log in first"
        return self.answer(path)


def _pages() -> dict[str, Page]:
    return {"/": Page(["/a", "/b"]), "/a": Page(), "/b": Page()}


def test_the_command_line_sends_what_it_is_told_to(corral: Corral) -> None:
    with serve_site(Guarded(_pages())) as site:
        assert isinstance(site, Guarded)
        done = corral(
            *("crawl", f"{site.url}/", "--cookie", "sid=good", "--header", "X-Key: open", "--user-agent", "Me/1.0"),
            *("--delay", "0.3", "-o", "-"),
        )
        assert done.code == 0, done.err
        assert {json.loads(line)["url"] for line in done.out.splitlines()} == {f"{site.url}{path}" for path in _pages()}
        pages = [each for each in site.asked if "good" in each.get("cookie", "")]
        assert len(pages) == 3
        assert {(each["x-key"], each["user-agent"]) for each in pages} == {("open", "Me/1.0")}
        at = sorted(when for path, when in site.asked_at if path != "/robots.txt")
        assert at[2] - at[1] > 0.2
        assert "good" not in corral("run", "list", "--json").out
        both = corral("crawl", f"{site.url}/", "-o", "-", "--json")
        assert both.code == 2


def test_scrape_prints_json_lines(corral: Corral) -> None:
    with serve_site(_pages()) as site:
        done = corral("scrape", f"{site.url}/a", "--fields", "title", "-o", "-")
        assert (done.code, json.loads(done.out)) == (0, {"title": "/a"}), done.err


def test_tasks_take_a_login_a_proxy_and_certificates(stack: Stack) -> None:
    with serve_site(Guarded(_pages())) as site:
        task = submit(stack, f"{site.url}/", cookies={"sid": "good"}, headers={"X-Key": "k"}, user_agent="Me/2")
        assert wait_for_task(stack, task)["status"] == "completed"
        told = results(stack, task)
        assert len(told["results"]) == 3
        assert "good" not in json.dumps(told)
        task = submit(stack, f"{site.url}/", proxy_policy="http://127.0.0.1:9", retry_attempts=1)
        assert wait_for_task(stack, task)["status"] == "failed"
        events = stack.client.get(f"/jobs/runs/{task}").json()
        assert "proxy" in (events["failure_detail"] or ""), events
        task = submit(stack, f"{site.url}/", cookies={"sid": "good"}, verify_tls=False)
        assert wait_for_task(stack, task)["status"] == "completed"
        messages = [each["message"] for each in stack.client.get(f"/jobs/runs/{task}/events").json()]
        assert any("certificate" in message.lower() or "tls" in message.lower() for message in messages), messages


def _job(stack: Stack, **body: Any) -> dict[str, Any]:
    answer = stack.client.post("/jobs", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def _run(stack: Stack, job_id: str, *states: str, within_s: float = 60.0) -> dict[str, Any]:
    run_id = stack.client.post(f"/jobs/{job_id}/runs").json()["id"]
    return _until(stack, run_id, *states, within_s=within_s)


def _until(stack: Stack, run_id: str, *states: str, within_s: float = 60.0) -> dict[str, Any]:
    deadline = time.monotonic() + within_s * SLACK
    while (run := stack.client.get(f"/jobs/runs/{run_id}").json())["status"] not in states:
        assert time.monotonic() < deadline, run
        time.sleep(0.05)
    return dict(run)


def test_a_list_behind_a_login_waits_for_one_and_goes_on(stack: Stack) -> None:
    with serve_site(Guarded({"/": Page(["/a", "/b"]), "/a": Page(), "/b": Page()})) as site:
        config = {"item_links": "li a"}
        job = _job(
            stack,
            target_url=f"{site.url}/",
            fields=["title"],
            crawl_mode="list",
            list_config=config,
            requires_auth=True,
        )
        run = _run(stack, job["id"], "waiting_for_human")
        [waiting] = [each for each in stack.client.get("/interventions").json() if each["run_id"] == run["id"]]
        bad = {"job_id": job["id"], "cookies": [{"name": "sid", "value": "bad"}]}
        assert stack.client.post("/jobs/sessions", json=bad).status_code == 200
        note = {"resolution": "logged in", "resolved_by": "Ada"}
        assert stack.client.post(f"/interventions/{waiting['id']}/resolve", json=note).status_code == 200
        events = stack.client.get(f"/jobs/runs/{run['id']}/events").json()
        assert any(note.items() <= each["meta"].items() for each in events), events
        # The login that it was given is none: it waits again, and nothing was given up.
        deadline = time.monotonic() + 60 * SLACK
        while not (
            again := [
                each
                for each in stack.client.get("/interventions").json()
                if each["run_id"] == run["id"] and each["id"] != waiting["id"]
            ]
        ):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        good = {"captured_session": {"cookies": [{"name": "sid", "value": "good"}]}, "resolved_by": "Ada"}
        twice = {**good, "session": good["captured_session"]}
        assert stack.client.post(f"/interventions/{again[0]['id']}/resolve", json=twice).status_code == 422
        assert stack.client.post(f"/interventions/{again[0]['id']}/resolve", json=good).status_code == 200
        run = _until(stack, run["id"], "completed", "partial", "failed")
        assert run["status"] == "completed", run
        records = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
        assert {each["data"]["title"] for each in records} == {"/a", "/b"}


_FILLED = """<title>x</title><div id=root></div><script>
document.getElementById("root").innerHTML = {html}</script>"""


@pytest.mark.skipif(not find_chromium(), reason="there is no browser here")
@pytest.mark.parametrize("strategy", ["auto", "browser"])
def test_a_list_that_needs_scripts(stack: Stack, strategy: str) -> None:
    items = "".join(f'<li><a href="/item/{n}">{n}</a>' for n in range(3))
    pages = {"/": Page(raw=_FILLED.format(html=json.dumps(items)))}
    for number in range(3):
        html = json.dumps(f"<h1>Item {number}</h1><b class=price>{number} EUR</b>")
        pages[f"/item/{number}"] = Page(raw=_FILLED.format(html=html))
    with serve_site(pages) as site:
        config = {"item_links": "li a"}
        fields = [{"name": "price", "css": ".price"}]
        job = _job(
            stack, target_url=f"{site.url}/", fields=fields, crawl_mode="list", list_config=config, strategy=strategy
        )
        run = _run(stack, job["id"], "completed", "partial", "failed")
        assert run["status"] == "completed", run
        records = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
        assert {each["data"]["price"] for each in records} == {"0 EUR", "1 EUR", "2 EUR"}


_ITEM = """<title>x</title><div id=root></div><script>
fetch("/api/products/" + location.pathname.split("/").pop()).then(answer => answer.json()).then(told => {
  document.getElementById("root").innerHTML = `<h1>${told.name}</h1><b class=price>${told.price}</b>`;
});</script>"""


@pytest.mark.skipif(not find_chromium(), reason="there is no browser here")
def test_items_are_replayed_by_a_recipe_that_a_browser_recorded(stack: Stack) -> None:
    numbers = range(1001, 1007)
    items = "".join(f'<li><a href="/item/{n}">{n}</a>' for n in numbers)
    pages = {"/": Page(raw=f"<title>L</title><ul>{items}</ul>")}
    for number in numbers:
        pages[f"/item/{number}"] = Page(raw=_ITEM)
        told = json.dumps({"id": number, "name": f"Thing {number}", "price": f"{number}.75 EUR"})
        pages[f"/api/products/{number}"] = Page(raw=told, headers={"content-type": "application/json"})
    with serve_site(pages) as site:
        fields = [{"name": "price", "css": ".price"}]
        single = _job(stack, target_url=f"{site.url}/item/1001", fields=fields, strategy="browser")
        assert _run(stack, single["id"], "completed", "partial", "failed")["status"] == "completed"
        config = {"item_links": "li a", "pagination": "a.next"}
        job = _job(stack, target_url=f"{site.url}/", fields=fields, crawl_mode="list", list_config=config)
        site.hits.clear()
        run = _run(stack, job["id"], "completed", "partial", "failed")
        assert run["status"] == "completed", run
        records = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
        assert {each["data"]["price"] for each in records} == {f"{number}.75 EUR" for number in numbers}
        assert sum(site.hits[f"/item/{number}"] for number in numbers) == 0, site.hits


@dataclass
class Keyed(Site):
    """An application that answers its pages and its calls to those who send a header; `/out` leads elsewhere."""

    elsewhere: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)

    def answer_to(self, path: str, asked: Mapping[str, str]) -> tuple[int, Mapping[str, str], str | bytes]:
        self.asked.append((path, asked.get("x-key", "")))
        if path == "/out":
            return 302, {"location": f"{self.elsewhere}/landed"}, ""
        if not self.elsewhere or asked.get("x-key") == "open":
            return self.answer(path)
        return 403, {}, "<title>no</title><p>no key"


def _site_with_key(elsewhere: str) -> Keyed:
    calls = "".join(f'fetch("{where}");' for where in ("/out", f"{elsewhere}/pixel"))
    made = '"<h1>All of it</h1><p>" + told.text + "</p><a href=/out>out</a>"'
    shell = f"""<title>x</title><div id=root></div><script>{calls}
    fetch("/call").then(answer => answer.json()).then(told => {{
      document.getElementById("root").innerHTML = {made};
    }});</script>"""
    told = json.dumps({"text": "a text that came by a call " * 20})
    call = Page(raw=told, headers={"content-type": "application/json"})
    return Keyed({"/": Page(raw=shell), "/call": call, "/robots.txt": Page(status=404)}, elsewhere=elsewhere)


def _check_keys(site: Keyed, other: Keyed, text: str) -> None:
    assert "a text that came by a call" in text
    assert ("/call", "open") in site.asked
    # Neither a call of the page nor a redirect carries the header to another origin.
    assert {path for path, _ in other.asked} >= {"/landed", "/pixel"}
    assert {key for _, key in other.asked} == {""}


@pytest.mark.skipif(not find_chromium(), reason="there is no browser here")
@pytest.mark.parametrize("strategy", ["auto", "browser"])
def test_the_browser_sends_headers_to_the_origin_of_the_start_alone(corral: Corral, strategy: str) -> None:
    cors = {"access-control-allow-origin": "*"}
    pages = {path: Page(headers=cors) for path in ("/landed", "/pixel")}
    with serve_site(Keyed(pages)) as other, serve_site(_site_with_key(other.url)) as site:
        assert isinstance(site, Keyed)
        assert isinstance(other, Keyed)
        options = ("--strategy", strategy, "--scope", "any", "--depth", "1", "-o", "-", "--no-robots")
        done = corral("crawl", f"{site.url}/", "--header", "X-Key: open", *options, APP_EGRESS_ALLOW="127.0.0.1/32:*")
        assert done.code == 0, done.err
        _check_keys(site, other, done.out)
        assert "open" not in corral("run", "list", "--json").out


@pytest.mark.skipif(not find_chromium(), reason="there is no browser here")
def test_tasks_render_pages_with_headers(stack: Stack) -> None:
    pages = {path: Page(headers={"access-control-allow-origin": "*"}) for path in ("/landed", "/pixel")}
    with serve_site(Keyed(pages)) as other, serve_site(_site_with_key(other.url)) as site:
        assert isinstance(site, Keyed)
        assert isinstance(other, Keyed)
        task = submit(stack, f"{site.url}/", headers={"X-Key": "open"}, strategy="browser", max_depth=1)
        last = wait_for_task(stack, task, within_s=60)
        assert last["status"] == "completed", json.dumps([last, site.asked, results(stack, task)])
        _check_keys(site, other, json.dumps(results(stack, task)["results"]))


def test_a_job_over_a_site_keeps_files_and_comes_as_somebody_else(stack: Stack) -> None:
    pdf = b"%PDF-1.7 \0"
    files = {"/a.pdf": Page(raw=pdf, headers={"content-type": "application/pdf"})}
    with serve_site(Guarded({"/": Page(["/a.pdf", "/b"]), "/b": Page(), **files}, cookie="")) as site:
        assert isinstance(site, Guarded)
        config = {"save_files": True, "user_agent": "Somebody/1", "delay_s": 0.05}
        job = _job(stack, target_url=f"{site.url}/", fields=["title"], crawl_mode="crawl", list_config=config)
        run = _run(stack, job["id"], "completed", "partial", "failed")
        assert run["status"] == "completed", run
        records = [each["data"] for each in stack.client.get(f"/jobs/runs/{run['id']}/records").json()]
        assert [each["size"] for each in records if "sha256" in each] == [len(pdf)]
        assert len(records) == 3
        agents = [each["user-agent"] for each in site.asked if each["user-agent"] == "Somebody/1"]
        assert len(agents) >= 3
