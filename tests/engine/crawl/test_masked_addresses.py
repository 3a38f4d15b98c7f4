"""Addresses of pages are shown without session ids and tokens; what a page says stays as the page says it."""

from tests.engine.crawl.site import Page, serve_site
from tests.engine.crawl.tasks import results, submit, wait_for_task
from tests.stack import Stack

CANARY = "CANARY0123456789abcdef"


def test_a_crawl_shows_no_token_of_an_address(stack: Stack) -> None:
    secret, broken = f"/a?access_token={CANARY}", f"/broken?otp={CANARY}&page=2"
    quoted = f"it quotes https://other.example/?token={CANARY} for all to read, among many other words of its own"
    pages = {"/": Page([secret, broken]), secret: Page(text=quoted), broken: Page(status=500)}
    with serve_site(pages) as site:
        task = submit(stack, f"{site.url}/", retry_attempts=1)
        wait_for_task(stack, task)
        told = results(stack, task, include_errors=True)
        [page] = [each for each in told["results"] if "/a?" in each["url"]]
        assert page["url"] == f"{site.url}/a?access_token=***"
        assert CANARY in page["full_text"], "its content is the user's"
        assert [each["url"] for each in told["error_details"]] == [f"{site.url}/broken?otp=***&page=2"]
        for path in (
            *(f"/scraping/tasks/{task}/pages?state={state}" for state in ("done", "failed")),
            f"/jobs/runs/{task}/events",
            f"/scraping/tasks/{task}/status",
        ):
            answer = stack.client.get(path)
            assert answer.status_code == 200, answer.text
            assert CANARY not in answer.text, path
        assert site.hits[secret] == 1, "it was asked for by its own name"
