"""`corral preview`."""

import pytest

from tests.cli.command import Corral
from tests.engine.crawl.site import Page, serve_site

pytestmark = pytest.mark.usefixtures("migrated")

WORDS = "<p>Some words about it.</p>" * 20


def a_product(name: str, price: str) -> Page:
    others = "".join(
        f'<li class=other><a href="/product/{each}">{each}</a></li>' for each in ("lamp", "chair", "table")
    )
    return Page(raw=f"<title>{name}</title><h1>{name}</h1><b class=price>{price}</b><ul>{others}</ul>{WORDS}")


PAGES = {
    "/product/lamp": a_product("Lamp", "€ 9.50"),
    "/product/chair": a_product("Chair", "€ 20.00"),
    "/product/table": a_product("Table", "€ 99.00"),
    "/robots.txt": Page(status=404),
}


def test_a_preview_shows_fields_their_values_on_other_pages_and_a_list_recipe(corral: Corral) -> None:
    with serve_site(PAGES) as site:
        shown = corral("preview", f"{site.url}/product/lamp")
        assert shown.code == 0, shown.err
        price = next(line for line in shown.out.splitlines() if ".price" in line)
        assert "€ 9.50" in price
        assert "€ 20.00 | € 99.00" in price
        # The recipe is used as it is printed.
        recipe = "fields:" + shown.out.partition("fields:")[2].partition("note:")[0].partition("\n\n")[0]
        (corral.folder / "list.yaml").write_text(recipe)
        done = corral("scrape", f"{site.url}/product/lamp", "--recipe", "list.yaml", "--json")
        assert done.code == 0, done.err
        assert [row["title"] for row in done.json["records"][0]["items"]] == ["lamp", "chair", "table"]


def test_a_click_is_css_xpath_or_text(corral: Corral) -> None:
    with serve_site(PAGES) as site:
        for click in (".price", "//b", "text=€ 9.50", "€ 9.50"):
            found = corral("preview", f"{site.url}/product/lamp", "--click", click, "--json").json
            best = found["suggestions"][0]
            assert (best["label"], best["css"]) == ("element", "b.price"), click
            assert best["values"] == ["€ 9.50", "€ 20.00", "€ 99.00"]
        missing = corral("preview", f"{site.url}/product/lamp", "--click", ".none")
        assert (missing.code, "nothing on the page matches it" in missing.err) == (2, True)
        assert corral("preview", f"{site.url}/gone").code == 1
