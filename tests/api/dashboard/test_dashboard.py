"""What a person sees and does in the dashboard, in a real browser."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import expect

from tests.api.sessions import a_job, add_session, log_in, open_intervention
from tests.engine.crawl.site import Page, serve_site, tree
from tests.engine.crawl.tasks import submit, wait_for_task
from tests.stack import Stack

expect.set_options(timeout=30_000)  # for a machine that is busy with other tests

HOSTILE = '"><img src=x onerror="window.hacked=1"><script>window.hacked=2</script>'
HOSTILE_PATH = "/a'%22%3E%3Cimg%20src=x%20onerror=window.hacked=3%3E"


def open_page(tab: Tab, where: str) -> None:
    tab.goto(f"/#/{where}")
    expect(tab.locator("main h1")).to_be_visible()


def start_crawl(page: Tab, url: str) -> None:
    """By the form, with mistakes on the way."""
    open_page(page, "crawls")
    expect(page.locator("[aria-busy]")).to_have_count(0)
    if not page.get_by_role("button", name="Start crawl").is_visible():  # it is where there are no crawls yet
        page.get_by_text("New crawl").click()
    page.get_by_role("button", name="Start crawl").click()
    expect(page.get_by_text("Say where to begin")).to_be_visible()
    page.get_by_label("Start page").fill(url)
    page.get_by_label("Depth").fill("9")
    page.get_by_role("button", name="Start crawl").click()
    expect(page.locator("#crawl-max_depth-error")).not_to_be_empty()
    page.get_by_label("Depth").fill("2")
    page.get_by_text("More options").click()
    page.get_by_label("Never follow").fill("/secret/*")
    page.get_by_label("Pages at once").fill("2")
    page.get_by_label("Tries for each page").fill("1")
    page.get_by_role("button", name="Start crawl").click()


def test_a_crawl_from_the_form_to_its_end(stack: Stack, page: Tab) -> None:
    pages = tree(width=4, depth=2)
    for path in pages:
        pages[path].takes_s = 0.4
    pages["/"].links = [*pages["/"].links, "/broken", "/gone", "/secret/x"]
    pages["/broken"] = Page(status=400)
    with serve_site(pages) as site:
        start_crawl(page, f"{site.url}/")
        expect(page.locator(".badge")).to_have_text("Running")
        page.set_viewport_size({"width": 360, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it fits a narrow screen"
        expect(page.locator(".progress")).to_contain_text(re.compile(r"\d left|\d+ m?s to|s left"))
        expect(page.get_by_text("Now: http")).to_be_visible()
        page.get_by_role("button", name="Pause").click()
        expect(page.locator(".badge")).to_have_text("Paused")
        page.get_by_role("button", name="Resume").click()
        expect(page.locator(".badge")).to_have_text("Partial")

    tiles = page.locator(".tiles").inner_text().split()
    assert tiles[:8] == ["21", "Done", "1", "Failed", "1", "Missing", "1", "Skipped"]
    expect(page.locator("section", has_text="Why pages failed").first).to_contain_text("Bad response: http 400")
    expect(page.locator("#pages tbody tr")).to_have_count(1)
    expect(page.locator("#pages")).to_contain_text("/broken")
    page.locator("#page-state").select_option("missing")
    expect(page.locator("#pages")).to_contain_text("/gone")
    page.get_by_role("button", name="Show Skipped pages").click()
    expect(page.locator("#pages")).to_contain_text("/secret/x")
    page.locator("#why-url").fill(f"{site.url}/secret/x")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_text("by the rule excluded")).to_be_visible()
    page.locator("#why-url").fill(f"{site.url}/never")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_text("was not seen by this crawl")).to_be_visible()
    expect(page.get_by_text("It is forgotten, with its records")).to_be_visible()
    page.get_by_role("button", name="Keep").click()
    expect(page.get_by_text("It is kept until you say otherwise.")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="With errors").click()
    assert "/gone" in saved.value.path().read_text()
    page.get_by_role("link", name="Crawl again").click()
    expect(page.get_by_label("Start page")).to_have_value(f"{site.url}/")
    expect(page.get_by_label("Never follow")).to_have_value("/secret/*")


@pytest.mark.slow
def test_a_crawl_can_be_cancelled_and_the_list_shows_it(stack: Stack, page: Tab) -> None:
    with serve_site({"/": Page(takes_s=5.0)}) as site:
        task = submit(stack, f"{site.url}/")
        open_page(page, f"crawls/{task}")
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator(".badge")).to_have_text("Cancelled")
    open_page(page, "crawls?status=cancelled")
    expect(page.locator(f'tr[data-id="{task}"]')).to_contain_text("Cancelled")
    open_page(page, "crawls/01890000-0000-7000-8000-000000000000")
    expect(page.locator("h1")).to_have_text("Crawl not found")


def test_nothing_that_came_from_a_page_becomes_part_of_ours(stack: Stack, page: Tab) -> None:
    title = HOSTILE.replace("<", "&lt;")
    links = "".join(f'<a href="{path}">x</a>' for path in (HOSTILE_PATH, "/gone?q=<b>bold</b>", "/odd"))
    pages = {
        "/": Page(raw=f"<title>{title}</title><h1>{title}</h1><p>{title * 3}</p>{links}"),
        "/odd": Page(raw=f"<title>{title}</title>", headers={"content-type": "text/html", "x-robots-tag": "noindex"}),
    }
    with serve_site(pages) as site:
        task = submit(stack, f"{site.url}/", retry_attempts=1)
        wait_for_task(stack, task)
        for where in (f"crawls/{task}", "crawls", f"runs/{task}", "records", "sites", "runs"):
            open_page(page, where)
            expect(page.locator("[aria-busy]")).to_have_count(0)
            assert page.evaluate("window.hacked") is None
            assert page.locator("main img[src=x], main script, main b:has-text('bold')").count() == 0
        open_page(page, "records")
        expect(page.get_by_text("<img src=x onerror").first).to_be_visible()
        open_page(page, f"crawls/{task}")
        page.locator("#page-state").select_option("missing")
        expect(page.locator("#pages")).to_contain_text("%3Cimg%20src=x")
        open_page(page, "preview")
        page.locator("#preview-url").fill(f"{site.url}/")
        page.get_by_role("button", name="Look at it").click()
        expect(page.locator("#preview-answer")).to_contain_text("window.hacked")
        page.get_by_text("The beginning of its HTML").click()
        assert page.evaluate("window.hacked") is None


@pytest.mark.slow
def test_what_waits_for_a_person_is_shown_with_its_picture_and_let_go_on(stack: Stack, page: Tab) -> None:
    job = a_job(stack)
    add_session(stack, job, {"name": "demo_session", "value": "no-longer-good"})
    run = stack.start(job)
    stack.until(run["id"], "waiting_for_human")
    waiting = open_intervention(stack, run)
    open_page(page, "interventions")
    card = page.locator(f'[data-id="{waiting["id"]}"]')
    expect(card).to_contain_text("/account")
    expect(card.locator("img[src^='data:image/png']")).to_be_visible()
    add_session(stack, job, log_in(stack.site))
    card.get_by_role("button", name="Resume").click()
    expect(card).to_have_count(0)
    assert stack.wait_for_end(run["id"])["status"] == "completed"
    open_page(page, "interventions?status=resolved")
    expect(card).to_contain_text("Dealt with")


@pytest.mark.slow
def test_a_preview_suggests_fields_and_makes_a_job_of_them(stack: Stack, page: Tab) -> None:
    open_page(page, "preview")
    page.locator("#preview-url").fill("http://169.254.169.254/")
    page.get_by_role("button", name="Look at it").click()
    expect(page.locator("#preview-url-error")).not_to_be_empty()
    page.locator("#preview-url").fill(f"{stack.site}/articles")
    page.get_by_role("button", name="Look at it").click()
    expect(page.locator(".suggestions tbody tr").first).to_be_visible()
    dates = page.get_by_label("Take date")
    assert [box.is_checked() for box in dates.all()] == [True, False], "one way to each field"
    dates.last.check()
    page.get_by_role("button", name="Make a job").click()
    expect(page.locator("h1")).to_have_text("Runs")
    newest: dict[str, Any] = stack.client.get("/jobs?limit=1").json()[0]
    assert newest["target_url"] == f"{stack.site}/articles"
    assert {"title", "date", "date 2"} < {field["name"] for field in newest["fields"]}

    open_page(page, "preview")
    page.get_by_text("A list and its items").click()
    page.locator("#list-url").fill(f"{stack.site}/articles")
    page.locator("#list-item_links").fill("article a, li a, a")
    page.get_by_role("button", name="Try the selectors").click()
    expect(page.locator("#preview-answer")).to_contain_text(re.compile(r"\d+ items? on this page"))


@pytest.mark.slow
@pytest.mark.parametrize("width, scheme", [(360, "light"), (1280, "dark")])
def test_every_page_fits_its_screen(stack: Stack, page: Tab, width: int, scheme: Any) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    with serve_site({"/": Page(["/" + "long" * 60])}) as site:
        task = submit(stack, f"{site.url}/", retry_attempts=1)
        wait_for_task(stack, task)
    for where in ("crawls", f"crawls/{task}", "interventions", "preview", "sites", "runs", "jobs", "records"):
        open_page(page, where)
        expect(page.locator("[aria-busy]")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), where
        expect(page.locator("nav a[aria-current]")).to_be_in_viewport()


def test_the_workers_and_what_they_hold(stack: Stack, page: Tab) -> None:
    run = stack.start(stack.job("/slow?seconds=8"))
    open_page(page, "workers")
    expect(page.locator("table.workers tbody tr")).to_have_count(1)
    expect(page.locator("table.workers .badge")).to_have_text("Live")
    expect(page.locator("table.queues tbody tr")).to_have_count(3)
    expect(page.locator(f'table.held tr[data-id="{run["id"]}"]')).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it fits a narrow screen"
