import asyncio
import sqlite3

import pytest

from corral.domain.jobs.job import Strategy
from corral.domain.sites.recipe.recipe import RecordedRecipe
from corral.domain.sites.site import Observation
from corral.store.open import open_store
from tests.cli.command import Corral
from tests.engine.crawl.site import Page, serve_site

pytestmark = pytest.mark.usefixtures("migrated")

DOCUMENT = {
    "calls": [{"method": "GET", "url": "{origin}/api/{path.1}", "headers": {}, "body": None}],
    "fields": {"name": {"call": 0, "value": "{$.name}"}},
}


@pytest.fixture
def taught(corral: Corral) -> Corral:
    async def teach() -> None:
        store = open_store(f"sqlite:///{corral.data}/corral.db")
        seen = Observation("shop.test", "k", Strategy.BROWSER, succeeded=True, requested=1, found=1, cost_ms=900)
        await store.sites.learn([seen] * 4)
        await store.recipes.save(RecordedRecipe("shop.test", "k", "/shop/*", DOCUMENT, "k"))
        await store.close()

    asyncio.run(teach())
    return corral


def test_what_is_known_is_listed_and_shown(taught: Corral) -> None:
    listed = taught.here("site", "list")
    assert listed.code == 0
    assert "shop.test" in listed.out
    [site] = taught.here("site", "list", "--json").json
    assert (site["host"], site["attempts"], site["recipes"]) == ("shop.test", 4, 1)

    shown = taught.here("site", "show", "shop.test")
    assert shown.code == 0
    for told in ("browser", "100%", "900 ms", "/shop/*", "GET {origin}/api/{path.1}", "name"):
        assert told in shown.out
    told = taught.here("site", "show", "https://shop.test/shop/17", "--json").json
    assert told["proven"] == {"k": "browser"}
    assert told["strategies"]["browser"]["attempts"] == 4
    assert [each["strategy"] for each in told["evidence"]] == ["browser"]
    assert [each["document"] for each in told["recipes"]] == [DOCUMENT]


def test_a_recipe_is_shown_edited_released_and_forgotten(taught: Corral) -> None:
    [known] = taught.here("site", "show", "shop.test", "--json").json["recipes"]
    verb = ("site", "recipe", known["id"])
    shown = taught.here(*verb)
    assert (shown.code, shown.json) == (0, DOCUMENT)
    file = taught.folder / "recipe.json"
    file.write_text(shown.out.replace("$.name", "$.title"))
    assert "nothing was written" in taught.here(*verb, "--document", str(file), "--dry-run").out
    assert taught.here(*verb, "--json").json == known

    edited = taught.here(*verb, "--document", str(file), "--json").json
    assert (edited["version"], edited["pinned"]) == (2, True)
    assert edited["document"]["fields"]["name"]["value"] == "{$.title}"
    assert taught.here(*verb, "--no-pin").out.endswith("version 2, not pinned\n")
    assert taught.here(*verb, "--pin", "--json").json["pinned"] is True

    for wrong in (
        "no json",
        shown.out.replace("{path.1}", "{path.9}"),
        shown.out.replace("{origin}", "http://10.0.0.1"),
    ):
        file.write_text(wrong)
        assert taught.here(*verb, "--document", str(file)).code in (1, 2)
    assert taught.here(*verb, "--document", str(file), "--forget").code == 2
    assert "would remove" in taught.here(*verb, "--forget", "--dry-run").out
    assert taught.here(*verb, "--json").json["version"] == 2
    assert taught.here(*verb, "--forget").code == 0
    assert taught.here(*verb).code == 1


def test_an_unknown_site_is_told_apart_from_a_bad_one(taught: Corral) -> None:
    unknown = taught.here("site", "show", "elsewhere.test")
    assert (unknown.code, unknown.out) == (1, "")
    assert "nothing is known about elsewhere.test" in unknown.err
    assert taught.here("site", "show", "no host").code == 2


def test_what_crawls_got_from_sites_is_listed_and_shown(corral: Corral) -> None:
    assert "no site has been crawled yet" in corral.here("site", "stats").out
    with serve_site({"/": Page(["/broken"]), "/broken": Page(status=400)}) as site:
        crawled = corral("crawl", f"{site.url}/", "--keep", "--json")
        assert crawled.code == 3, crawled.err
        [told] = corral.here("site", "stats", "--json").json
        assert (told["host"], told["pages_done"], told["failed"]) == ("127.0.0.1", 1, {"bad_response": 1})
        assert corral.here("site", "stats", site.url, "--json").json == told
        assert corral.here("site", "show", "127.0.0.1", "--json").json["statistics"] == told
    for shown in (corral.here("site", "stats").out, corral.here("site", "show", "127.0.0.1").out):
        assert "bad_response 1" in shown
        assert "50.0%" in shown
    assert corral.here("site", "stats", "elsewhere.test").code == 1

    run_id = crawled.json["run"]["id"]
    assert _list_kept(corral) == [run_id]
    assert "would stop keeping" in corral.here("run", "keep", run_id, "--undo", "--dry-run").out
    assert corral.here("run", "keep", run_id, "--undo", "--json").json == {"run_id": run_id, "keep": False}
    assert _list_kept(corral) == []
    assert corral.here("run", "keep", run_id).out == f"run {run_id} is kept\n"
    assert corral.here("run", "keep", "01890000-0000-7000-8000-000000000000").code == 1


def _list_kept(corral: Corral) -> list[str]:
    with sqlite3.connect(corral.data / "corral.db") as connection:
        found = [row[0] for row in connection.execute("SELECT run_id FROM pinned_runs")]
    connection.close()
    return found


def test_before_the_first_run_there_is_nothing_to_list(corral: Corral) -> None:
    listed = corral.here("site", "list")
    assert listed.code == 0
    assert "no site is known yet" in listed.out
    assert corral.here("site", "list", "--json").json == []
