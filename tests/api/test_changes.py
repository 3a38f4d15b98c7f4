"""Rows across the runs of a job: new, changed, unchanged, gone; keys that are missing or doubled."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.engine.crawl.site import Page, Site, serve_site
from tests.export import reading
from tests.stack import Stack

FIELDS = [{"name": "sku", "css": ".sku"}, {"name": "price", "css": ".price"}]
COUNTS = dict.fromkeys(("new", "changed", "unchanged", "gone", "unknown"), 0)


def a_product(sku: str | None, price: str) -> Page:
    shown = f"<b class=sku>{sku}</b>" if sku else ""
    return Page(raw=f"<title>x</title>{shown}<i class=price>{price}</i>" + "<p>Words about it.</p>" * 30)


def a_list(*paths: str, following: str | None = None) -> Page:
    links = "".join(f'<h2><a href="{path}">{path}</a></h2>' for path in paths)
    more = f'<a class="next" href="{following}">more</a>' if following else ""
    return Page(raw=f"<title>List</title>{links}{more}")


def a_shop(**prices: str) -> dict[str, Page]:
    """A list of products; the path of a product says nothing about its sku."""
    paths = {sku: f"/p/{sku}-{price}" for sku, price in prices.items()}
    pages = {paths[sku]: a_product(sku, price) for sku, price in prices.items()}
    return {"/robots.txt": Page(status=404), "/list": a_list(*paths.values()), **pages}


def a_job(stack: Stack, site: Site, **said: Any) -> dict[str, Any]:
    body = {
        "target_url": f"{site.url}/list",
        "crawl_mode": "list",
        "fields": FIELDS,
        "record_key": "sku",
        "list_config": {"item_links": "h2 > a", "pagination": "a.next"},
        **said,
    }
    answer = stack.client.post("/jobs", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def collect(stack: Stack, job: dict[str, Any]) -> dict[str, Any]:
    return stack.wait_for_end(stack.start(job)["id"])


def changes(stack: Stack, job: dict[str, Any], **query: Any) -> dict[str, Any]:
    answer = stack.client.get(f"/jobs/{job['id']}/changes", params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def counts(**some: int) -> dict[str, int]:
    return {**COUNTS, **some}


def test_a_row_is_recognized_by_its_key_under_another_url(stack: Stack) -> None:
    with serve_site(a_shop(a="1", b="2", c="3")) as site:
        job = a_job(stack, site)
        assert job["record_key"] == "sku"
        first = collect(stack, job)
        found = changes(stack, job)
        assert (found["run_id"], found["since"], found["counts"]) == (first["id"], None, counts(new=3))
        site.pages = a_shop(a="1", b="20", d="4")
        second = collect(stack, job)
        found = changes(stack, job)
    assert (found["since"], found["run_id"], found["is_complete"]) == (first["id"], second["id"], True)
    assert found["counts"] == counts(new=1, changed=1, unchanged=1, gone=1)
    rows = {row["key"]: row for row in found["rows"]}
    assert {key: row["change"] for key, row in rows.items()} == {"b": "changed", "c": "gone", "d": "new"}
    assert rows["b"]["fields"]["price"] == {"before": "2", "after": "20"}
    assert rows["c"]["data"]["price"] == "3"
    only = changes(stack, job, kind="gone")
    assert [row["key"] for row in only["rows"]] == ["c"]
    assert changes(stack, job, run_id=second["id"], since=first["id"])["counts"] == found["counts"]


def test_the_url_of_its_page_identifies_a_row_without_a_key(stack: Stack) -> None:
    with serve_site(a_shop(a="1", b="2")) as site:
        job = a_job(stack, site, record_key=None, fields=[*FIELDS, {"name": "seen", "page": "time"}])
        collect(stack, job)
        site.pages["/p/a-1"] = a_product("a", "9")
        collect(stack, job)
        found = changes(stack, job)
    assert found["counts"] == counts(changed=1, unchanged=1)
    assert found["rows"][0]["key"] == f"{site.url}/p/a-1"


def test_a_run_that_was_not_complete_declares_nothing_gone_and_is_not_compared_with(stack: Stack) -> None:
    with serve_site(a_shop(a="1", b="2", c="3")) as site:
        job = a_job(stack, site)
        first = collect(stack, job)
        site.pages["/p/c-3"] = Page(status=400)
        assert collect(stack, job)["status"] == "partial"
        broken = changes(stack, job)
        site.pages = a_shop(a="1", b="2", c="3")
        collect(stack, job)
        whole = changes(stack, job)
        site.pages["/list"] = Page(status=404)
        assert collect(stack, job)["status"] == "failed"
        failed = changes(stack, job)
    assert (broken["is_complete"], broken["counts"]) == (False, counts(unchanged=2, unknown=1))
    assert whole["since"] == first["id"], "the partial run between them missed a row, which is not new"
    assert whole["counts"] == counts(unchanged=3)
    assert (failed["is_complete"], failed["counts"]) == (False, counts(unknown=3))


@pytest.mark.parametrize("config", [{"max_items": 2}, {"max_pages": 1}])
def test_a_list_that_was_read_up_to_a_limit_declares_nothing_gone(stack: Stack, config: dict[str, int]) -> None:
    shop = a_shop(a="1", b="2", c="3")
    shop |= {"/list": a_list("/p/a-1", "/p/b-2", following="/list?page=2"), "/list?page=2": a_list("/p/c-3")}
    links = {"item_links": "h2 > a", "pagination": "a.next"}
    with serve_site(shop) as site:
        job = a_job(stack, site, list_config={**links, **config})
        assert collect(stack, job)["status"] == "completed"
        site.pages |= {"/list": a_list("/p/c-3", "/p/a-1", following="/list?page=2"), "/list?page=2": a_list("/p/b-2")}
        assert collect(stack, job)["status"] == "completed"
        found = changes(stack, job)
    assert (found["is_complete"], found["is_since_complete"]) == (False, False)
    assert found["counts"] == counts(new=1, unchanged=1, unknown=1)


def test_keys_that_are_missing_or_doubled_are_named_and_no_row_is_lost(stack: Stack) -> None:
    with serve_site(a_shop(a="1", b="2", c="3", d="4")) as site:
        site.pages["/p/b-2"] = a_product("a", "2")
        site.pages["/p/c-3"] = a_product(None, "3")
        job = a_job(stack, site)
        run = collect(stack, job)
        collect(stack, job)
        found = changes(stack, job)
    assert run["stats"]["row_keys"] == {"duplicates": 2, "missing": 1, "examples": ["a"]}
    assert found["key_problems"] == run["stats"]["row_keys"]
    events = stack.client.get(f"/jobs/runs/{run['id']}/events").json()
    [told] = [each for each in events if each["message"] == "Record keys are missing or doubled"]
    assert (told["level"], told["meta"]) == ("warn", run["stats"]["row_keys"])
    assert told["seq"] < events[-1]["seq"]
    assert sum(found["counts"].values()) == 4
    assert found["counts"]["gone"] == found["counts"]["new"] == 0


def test_a_change_of_the_key_begins_anew(stack: Stack) -> None:
    with serve_site(a_shop(a="1", b="2")) as site:
        job = a_job(stack, site)
        first = collect(stack, job)
        answer = stack.client.patch(f"/jobs/{job['id']}", json={"record_key": ["sku", "price"]})
        assert answer.json()["record_key"] == ["sku", "price"]
        collect(stack, job)
        found = changes(stack, job)
        named = stack.client.get(f"/jobs/{job['id']}/changes", params={"since": first["id"]})
    assert (found["since"], found["counts"]) == (None, counts(new=2))
    assert named.status_code == 422
    assert "another record key" in named.text


def test_a_job_of_one_page_has_one_row_and_the_time_of_the_fetch_is_no_change(stack: Stack) -> None:
    single: dict[str, Any] = {"crawl_mode": "single", "list_config": None, "record_key": None}
    with serve_site({"/p": a_product("a", "1")}) as site:
        fields = [*FIELDS, {"name": "seen", "page": "time"}]
        job = a_job(stack, site, target_url=f"{site.url}/p", fields=fields, **single)
        assert collect(stack, job)["status"] == "completed"
        site.pages["/p"] = a_product("a", "2")
        collect(stack, job)
        changed = changes(stack, job)
        collect(stack, job)
        same = changes(stack, job)
    assert changed["rows"][0]["key"] == f"{site.url}/p"
    assert changed["rows"][0]["fields"] == {"price": {"before": "1", "after": "2"}}
    assert same["counts"] == counts(unchanged=1)


@pytest.mark.parametrize("key", ["nothing", [], ["sku", "sku"], "", {"a": 1}, ["sku", "nothing"], "rows.id"])
def test_a_key_that_is_no_field_is_refused(stack: Stack, key: Any) -> None:
    rows = {"name": "rows", "css": "tr", "all": True, "fields": [{"name": "id", "css": "td"}]}
    body = {"target_url": f"{stack.site}/articles", "fields": ["sku", rows], "record_key": key}
    answer = stack.client.post("/jobs", json=body)
    assert answer.status_code == 422, answer.text
    assert "record_key" in answer.text


def test_pages_of_changes_follow_each_other(stack: Stack) -> None:
    prices = {f"s{number}": str(number) for number in range(7)}
    with serve_site(a_shop(**prices)) as site:
        job = a_job(stack, site)
        collect(stack, job)
        site.pages = a_shop(**{sku: price + "0" for sku, price in list(prices.items())[:4]})
        collect(stack, job)
        seen: list[str] = []
        query: dict[str, Any] = {"limit": 2}
        while True:
            answer = stack.client.get(f"/jobs/{job['id']}/changes", params=query)
            seen += [row["key"] for row in answer.json()["rows"]]
            if "X-Next-Cursor" not in answer.headers:
                break
            query["cursor"] = answer.headers["X-Next-Cursor"]
    assert sorted(seen) == sorted(prices)
    assert stack.client.get(f"/jobs/{job['id']}/changes", params={"cursor": "abc"}).status_code == 422
    assert stack.client.get(f"/jobs/{job['id']}/changes", params={"since": job["id"]}).status_code == 404


def run_command(stack: Stack, folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command line, over the database of the installation."""
    return subprocess.run(
        [*forked.command(), *arguments], env=stack.environment, cwd=folder, capture_output=True, text=True, timeout=60
    )


def test_only_changes_are_exported_in_every_format(stack: Stack, tmp_path: Path) -> None:
    with serve_site(a_shop(a="1", b="2", c="3")) as site:
        job = a_job(stack, site)
        first = collect(stack, job)
        site.pages = a_shop(a="1", b="20", d="4")
        second = collect(stack, job)
        collect(stack, job)
    address = f"/jobs/runs/{second['id']}/export"
    tables: dict[str, list[dict[str, Any]]] = {}
    readers: dict[str, Callable[[bytes], Any]] = {
        "json": json.loads,
        "jsonl": reading.jsonl,
        "csv": reading.from_csv,
        "parquet": reading.parquet,
    }
    for kind, read in readers.items():
        answer = stack.client.get(address, params={"format": kind, "only_changes": "true"})
        assert answer.status_code == 200, answer.text
        assert f'filename="changes-{second["id"]}' in answer.headers["content-disposition"]
        done = run_command(stack, tmp_path, "export", second["id"], "-o", f"x.{kind}", "--only-changes")
        assert (done.returncode, done.stdout) == (0, f"3 changed rows written to x.{kind}\n"), done.stderr
        assert (tmp_path / f"x.{kind}").read_bytes() == answer.content
        tables[kind] = list(read(answer.content))
    for kind, rows in tables.items():
        found = [(row["_change"], row["sku"], row["price"]) for row in rows]
        assert sorted(found) == [("changed", "b", "20"), ("gone", "c", "3"), ("new", "d", "4")], kind
    assert next(iter(tables["csv"][0])) == "_change"
    sheet = stack.client.get(address, params={"format": "xlsx", "only_changes": "true"}).content
    assert len(reading.xlsx(sheet)["records"]) == 4
    assert stack.client.get(address, params={"format": "warc", "only_changes": "true"}).status_code == 422
    assert stack.client.get(address, params={"since": first["id"]}).status_code == 422
    named = {"only_changes": "true", "since": second["id"]}
    assert stack.client.get(address, params=named).status_code == 422, "a run is not compared with itself"
    planned = run_command(
        stack, tmp_path, "export", second["id"], "-o", "x.csv", "--only-changes", "--dry-run", "--json"
    )
    assert json.loads(planned.stdout)["records"] == 3
    assert json.loads(planned.stdout)["since"] == first["id"]


def test_an_export_of_a_run_that_was_not_complete_has_no_gone_rows(stack: Stack, tmp_path: Path) -> None:
    with serve_site(a_shop(a="1", b="2", c="3")) as site:
        job = a_job(stack, site)
        collect(stack, job)
        site.pages["/p/a-1"] = a_product("a", "10")
        site.pages["/p/c-3"] = Page(status=400)
        run = collect(stack, job)
    exported = stack.client.get(f"/jobs/runs/{run['id']}/export", params={"only_changes": "true"}).json()
    assert [(row["_change"], row["sku"]) for row in exported] == [("changed", "a")]
    done = run_command(stack, tmp_path, "export", run["id"], "-o", "x.csv", "--only-changes")
    assert "so none is gone" in done.stdout
    shown = run_command(stack, tmp_path, "job", "changes", job["id"])
    assert shown.returncode == 0, shown.stderr
    assert "1 changed, 1 unchanged, 0 gone, 1 unknown" in shown.stdout
    assert "rows that it lacks are unknown" in shown.stdout
    assert "price: 1 → 10" in shown.stdout
    schema = run_command(stack, tmp_path, "job", "schema", job["id"])
    assert json.loads(schema.stdout) == stack.client.get(f"/jobs/{job['id']}/schema").json()
