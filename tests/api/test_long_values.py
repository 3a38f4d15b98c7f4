"""Values beyond APP_MAX_VALUE_CHARS over HTTP: cut, named, and the run is partial."""

from pathlib import Path
from typing import Any

from tests.engine.crawl.site import Page, serve_site
from tests.stack import corral_up

LONG = "word " * 1000  # 4,999 characters


def test_a_run_with_a_value_that_was_cut_is_partial_and_names_it(tmp_path: Path) -> None:
    long, short = (f"<title>T</title><main><p class=a>{text}</p></main>" for text in (LONG, "short words " * 20))
    links = '<a href="/long">1</a><a href="/short">2</a>'
    pages = {"/long": Page(raw=long), "/short": Page(raw=short), "/": Page(raw=f"<title>S</title>{links}")}
    with serve_site(pages) as site, corral_up(tmp_path, site.url, APP_MAX_VALUE_CHARS="2000") as stack:
        fields: list[Any] = ["title", {"name": "a", "css": ".a"}]
        run = stack.wait_for_end(stack.start(stack.job("/long", fields=fields))["id"])
        assert (run["status"], run["failure_code"], run["failure_detail"]) == ("partial", "limit", "value_chars")
        assert run["stats"]["problems"] == {"a": "limit:value_chars"}
        [record] = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
        assert record["data"] == {"title": "T", "a": LONG[:2000]}
        assert stack.wait_for_end(stack.start(stack.job("/short", fields=fields))["id"])["status"] == "completed"

        listing = {"crawl_mode": "list", "list_config": {"item_links": "a"}}
        run = stack.wait_for_end(stack.start(stack.job("/", fields=fields, **listing))["id"])
        assert (run["status"], run["stats"]["left_out"]) == ("partial", {"value_cut": 1})

        body = {"url": f"{site.url}/", "max_depth": 1}
        task = stack.client.post("/scraping/async-scrape", json=body).json()["task_id"]
        assert stack.wait_for_end(task)["status"] == "partial"
        found = stack.client.get(f"/scraping/tasks/{task}/results").json()["results"]
        by_url = {each["url"].rpartition("/")[2]: each for each in found}
        assert (len(by_url["long"]["full_text"]), by_url["long"]["cut"]) == (2000, ["full_text"])
        assert "cut" not in by_url["short"]
