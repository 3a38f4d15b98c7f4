"""`corral reparse JOB`: the pages of a job's latest run, read with its present fields."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.engine.crawl.site import Page, serve_site
from tests.stack import Stack


def a_shop() -> dict[str, Page]:
    words = "<p>Words about it.</p>" * 30
    links = "".join(f'<h2><a href="/p/{number}">{number}</a></h2>' for number in range(3))
    products = {
        f"/p/{number}": Page(
            raw=f"<title>P{number}</title><b class=sku>s{number}</b><i class=price>{number}</i>{words}"
        )
        for number in range(3)
    }
    return {"/robots.txt": Page(status=404), "/list": Page(raw=f"<title>List</title>{links}"), **products}


def reparse(stack: Stack, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [*forked.command(), "reparse", *arguments]
    return subprocess.run(command, env=stack.environment, cwd=folder, capture_output=True, text=True, timeout=60)


def a_job(stack: Stack, target: str, **more: Any) -> dict[str, Any]:
    body = {"target_url": target, "fields": [{"name": "sku", "css": ".sku"}], "strategy": "http", **more}
    answer = stack.client.post("/jobs", json=body)
    assert answer.status_code == 200, answer.text
    job = dict(answer.json())
    stack.wait_for_end(stack.start(job)["id"])
    return job


@pytest.mark.parametrize("mode", ["list", "crawl"])
def test_the_pages_of_a_job_are_read_with_its_present_fields(stack: Stack, tmp_path: Path, mode: str) -> None:
    config = {"keep_pages": True} | ({"item_links": "h2 > a"} if mode == "list" else {})
    with serve_site(a_shop()) as site:
        job = a_job(stack, f"{site.url}/list", crawl_mode=mode, list_config=config)
        site.hits.clear()
        same = reparse(stack, tmp_path, job["id"], "--diff")
        assert same.returncode == 0, same.stdout + same.stderr
        fields = [{"name": "sku", "css": ".price"}]
        assert stack.client.patch(f"/jobs/{job['id']}", json={"fields": fields}).status_code == 200
        changed = reparse(stack, tmp_path, job["id"], "--diff", "--json")
        assert site.hits.total() == 0
    assert changed.returncode == 1, changed.stderr
    told = json.loads(changed.stdout)
    assert (told["counts"]["changed"], told["fields"]) == (3, {"sku": 3})
    changes = [each["changes"] for each in told["pages"] if each["url"].endswith("/p/2")]
    assert changes == [[{"field": "sku", "before": "s2", "after": "2"}]]


def test_a_job_without_stored_pages_says_how_to_store_them(stack: Stack, tmp_path: Path) -> None:
    with serve_site(a_shop()) as site:
        listed = a_job(stack, f"{site.url}/list", crawl_mode="list", list_config={"item_links": "h2 > a"})
        single = a_job(stack, f"{site.url}/p/1")
    done = reparse(stack, tmp_path, listed["id"], "--diff")
    assert (done.returncode, "list_config.keep_pages" in done.stderr) == (2, True), done.stderr
    done = reparse(stack, tmp_path, single["id"], "--diff")
    assert (done.returncode, "corral record" in done.stderr) == (2, True), done.stderr
