"""Suggestions of a preview, tried on more pages of the template."""

from tests.engine.crawl.site import Page, serve_site
from tests.stack import Stack

ROBOTS = Page(status=404)


def product(name: str, price: str, extra: str = "") -> Page:
    others = "".join(f'<a href="/product/{each}">{each}</a>' for each in ("lamp", "chair", "gone", "table"))
    words = "<p>Some words about it.</p>" * 20
    return Page(
        raw=f'<title>{name} | Shop</title><nav><a href="/cart">cart</a></nav><main><h1>{name}</h1>'
        f'<span class="css-1x2y3z price">{price}</span>{extra}{words}</main>{others}'
    )


def test_suggestions_show_their_values_on_two_more_pages_of_the_template(stack: Stack) -> None:
    pages = {
        "/robots.txt": ROBOTS,
        "/cart": Page(raw="<h1>Cart</h1>"),
        "/product/lamp": product("Lamp", "€ 9.50", '<i class="stock">3 left</i>'),
        "/product/chair": product("Chair", "€ 20.00"),
        "/product/gone": Page(status=404),
        "/product/table": product("Table", "€ 99.00"),
    }
    with serve_site(pages) as site:
        answer = stack.client.post("/jobs/preview", json={"url": f"{site.url}/product/lamp"})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert [page["url"].removeprefix(site.url) for page in found["pages"]] == [
            f"/product/{name}" for name in ("lamp", "chair", "gone", "table")
        ]
        assert [page["problem"] is None for page in found["pages"]] == [True, True, False, True]
        assert found["pages_note"] is None
        assert site.hits["/cart"] == 0
        by_css = {each["css"]: each for each in found["suggestions"]}
        assert by_css["h1"]["values"] == ["Lamp", "Chair", "Table"]
        assert by_css[".price"]["values"] == ["€ 9.50", "€ 20.00", "€ 99.00"]
        assert (by_css[".stock"]["values"], by_css[".stock"]["found_on"]) == (["3 left", None, None], 1)
        assert by_css[".stock"]["confidence"] < by_css[".price"]["confidence"] / 2


def test_a_page_without_siblings_says_so(stack: Stack) -> None:
    with serve_site({"/robots.txt": ROBOTS, "/one/only": Page(raw="<h1>One</h1><a href='/two'>two</a>")}) as site:
        found = stack.client.post("/jobs/preview", json={"url": f"{site.url}/one/only"}).json()
    assert [page["url"] for page in found["pages"]] == [f"{site.url}/one/only"]
    assert "no other page of this template" in found["pages_note"]
