"""A crawl with broken data at the terminal: exit code, file, `run show`, `export --withheld`, `run accept`."""

import json

from tests.cli.command import Corral
from tests.engine.crawl.site import Page, serve_site

RENAMED = {"class=price": "class=cost"}


def a_shop(changed: dict[str, str]) -> dict[str, Page]:
    pages = {"/": Page([f"/thing/{number}" for number in range(8)])}
    for number in range(8):
        words = f"<p>All about number {number}, in words that only this page has: {number * 7919}.</p>" * 9
        raw = f"<title>Thing {number}</title><b class=price>{number}3,50 €</b><i class=code>A-{number}</i>{words}"
        for old, new in changed.items():
            raw = raw.replace(old, new)
        pages[f"/thing/{number}"] = Page(raw=raw)
    return pages


def test_a_crawl_with_broken_data_keeps_its_records_apart_until_they_are_accepted(corral: Corral) -> None:
    with serve_site(a_shop({})) as site:
        recipe = {"pages": [{"match": "/thing/*", "fields": [{"name": "price", "css": ".price"}]}]}
        (corral.folder / "fields.yaml").write_text(json.dumps(recipe))
        asked = ("--recipe", "fields.yaml", "--quality", "min_history=2", "-o", "pages.jsonl")
        crawl = ("crawl", f"{site.url}/", *asked)
        for _ in range(2):
            assert corral(*crawl).code == 0
        good = (corral.folder / "pages.jsonl").read_text()
        site.pages.update(a_shop(RENAMED))
        broken = corral(*crawl)
    assert broken.code == 3, broken.err
    assert "the data is broken: price on /thing/* fill rate 1.0 → 0.0" in broken.err
    assert "pages.jsonl was not written" in broken.err
    assert (corral.folder / "pages.jsonl").read_text() == good
    run_id = corral.here("run", "list", "--json").json[0]["id"]
    shown = corral.here("run", "show", run_id).out
    assert f"verdict: the data is broken; its records are kept apart until `corral run accept {run_id}`" in shown
    [line] = [line for line in shown.splitlines() if "fill_rate" in line]
    assert line.split() == ["/thing/*", "price", "fill_rate", "1.0", "0.0", "broken"]
    refused = corral.here("export", run_id, "-o", "again.jsonl")
    assert (refused.code, "are withheld" in refused.err) == (1, True)
    assert corral.here("export", run_id, "-o", "apart.jsonl", "--withheld").code == 0

    assert "nothing was written" in corral.here("run", "accept", run_id, "--dry-run").out
    assert corral.here("run", "accept", run_id).out == f"{run_id}\n"
    assert "a person accepted it" in corral.here("run", "show", run_id).out
    assert corral.here("export", run_id, "-o", "again.jsonl").code == 0
    again = corral.here("run", "accept", run_id)
    assert (again.code, "accepted before" in again.err) == (1, True)


def test_the_thresholds_of_a_job_are_given_at_the_terminal(corral: Corral) -> None:
    def plan(text: str) -> dict[str, object]:
        added = corral.here(
            "job", "add", "https://example.com/", "--fields", "title,price", "--quality", text, "--dry-run", "--json"
        )
        assert added.code == 0, added.err
        return dict(added.json["job"]["quality"])

    assert plan("off") == {"enabled": False, "min_history": 5, "drop": 0.3, "ignore": []}
    given = plan("drop=0.5,min_history=3,ignore=title+price")
    assert given == {"enabled": True, "min_history": 3, "drop": 0.5, "ignore": ["title", "price"]}
    for bad, said in (
        ("drop=9", "a share is expected"),
        ("min_history=many", "a whole number of runs is expected"),
        ("dorp=0.5", "'dorp' is no threshold"),
        ("loose", "'loose' is not NAME=VALUE"),
    ):
        refused = corral.here("job", "add", "https://example.com/", "--fields", "title", "--quality", bad, "--dry-run")
        assert (refused.code, said in refused.err) == (2, True), refused.err
