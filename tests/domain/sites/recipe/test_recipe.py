import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from corral.demo.content import products
from corral.domain.errors import BadInput
from corral.domain.fields.spec import FieldSpec
from corral.domain.net.url import parse_target
from corral.domain.sites.recipe.recipe import Recipe, ShapeChange, matches, pattern_of, recipe_key, recipe_of
from corral.domain.sites.recipe.search import Call, derive
from corral.domain.sites.recipe.text import parse_template, render_template, template_text
from tests.chaos.level import by_level

KEYS = st.sampled_from(["id", "name", "price", "odd key", "amount", "data", "items", "titleText", "x-y", "größe"])
TEXTS = st.text("abcdefghijklmnopqrstuvwxyzäöü €{}$.:-'\"", min_size=1, max_size=30)
LEAVES = (
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXTS | st.floats(-1e6, 1e6).map(lambda x: round(x, 2))
)
DOCUMENTS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=25
)


def product_call(number: int, url: str = "https://shop.test/api/products/{}", **more: Any) -> Call:
    return Call("GET", url.format(number), {"accept": "application/json"}, products()[number - 1].document(), **more)


def product_record(number: int) -> dict[str, Any]:
    found = products()[number - 1]
    return {"name": found.name, "price": f"{found.amount} {found.currency}", "description": found.description}


def read(recipe: Recipe | None, url: str, *answers: Any) -> Any:
    assert recipe is not None
    return recipe.read(answers, parse_target(url))


def urls(recipe: Recipe | None, url: str) -> list[str]:
    assert recipe is not None
    requests = recipe.requests(parse_target(url))
    assert isinstance(requests, list), requests
    return [request.url for request in requests]


def leaves_of(document: Any) -> list[Any]:
    if isinstance(document, dict):
        return [leaf for value in document.values() for leaf in leaves_of(value)]
    if isinstance(document, list):
        return leaves_of(document[0]) if document else []
    return [document]


def test_what_one_page_taught_serves_another() -> None:
    recipe = derive("https://shop.test/shop/17", [product_call(17)], product_record(17))
    assert recipe is not None
    assert recipe.url_pattern == "/shop/*"
    for number in (1, 3, 48):
        page = f"https://shop.test/shop/{number}"
        assert urls(recipe, page) == [f"https://shop.test/api/products/{number}"]
        assert read(recipe, page, products()[number - 1].document()) == product_record(number)


@settings(max_examples=by_level(100, 1000), suppress_health_check=[HealthCheck.too_slow])
@given(DOCUMENTS, st.data())
def test_a_recipe_replays_to_the_values_it_was_derived_from(document: Any, data: st.DataObject) -> None:
    shown = [render_template(parse_template("{$.v}", ""), {"v": leaf}, {}) for leaf in leaves_of(document)]
    texts = [text for text in shown if isinstance(text, str)]
    if not texts:
        return
    names = data.draw(st.lists(st.sampled_from(["name", "price", "title", "id"]), unique=True, min_size=1))
    values = {name: data.draw(st.sampled_from(texts)) for name in names}
    url = "https://shop.test/a/17?q=x"
    recipe = derive(url, [Call("GET", "https://shop.test/api/17?q=x", {}, document)], values)
    if recipe is None:
        # Too short to be told from any other value, and without a name that says so.
        assert any(sum(char.isalnum() for char in value) < 3 for value in values.values())
        return
    again = recipe_of(recipe.url_pattern, copy.deepcopy(recipe.document()))
    assert urls(again, url) == ["https://shop.test/api/17?q=x"]
    assert read(again, url, document) == values


@given(DOCUMENTS, DOCUMENTS, st.dictionaries(KEYS, TEXTS | st.lists(TEXTS, max_size=3) | st.none(), max_size=4))
def test_whatever_a_page_fetched_nothing_breaks(answer: Any, body: Any, record: dict[str, Any]) -> None:
    calls = [Call("POST", "https://other.test/graphql", {"Content-Type": "application/json"}, answer, body)]
    recipe = derive("https://shop.test/a/b?c=d#/e/f", calls, record)
    if recipe is not None:
        found = read(recipe, "https://shop.test/a/b?c=d#/e/f", answer)
        assert found == {name: value for name, value in record.items() if value}


@given(TEXTS)
def test_templates_are_read_as_they_are_written(literal: str) -> None:
    template = (literal, *parse_template('{$.a["b}"][0][id=path.1]:1,000.00}', "value"))
    assert parse_template(template_text(template), "value") == template


@pytest.mark.parametrize(
    "shown, amount",
    [
        ("€ 9.50", 9.5),
        ("9,50 €", 9.5),
        ("$1,234.00", 1234),
        ("1.234,50 EUR", "1234.5"),
        ("1 234,50 €", 1234.5),
        ("CHF 1'234.50", 1234.5),
        ("12.5", 12.5),
    ],
)
def test_a_number_is_found_however_the_page_writes_it(shown: str, amount: Any) -> None:
    answer = {"item": {"amount": amount, "stock": 3}}
    recipe = derive("https://shop.test/p/oak", [Call("GET", "https://shop.test/x/oak", {}, answer)], {"price": shown})
    assert read(recipe, "https://shop.test/p/oak", answer) == {"price": shown}
    other = read(recipe, "https://shop.test/p/elm", {"item": {"amount": 20, "stock": 3}})
    assert "20" in other["price"]


def test_words_that_a_page_adds_are_not_taken_for_a_part_of_a_value() -> None:
    answer = {"stock": 125}
    assert (
        derive("https://s.test/p/1", [Call("GET", "https://s.test/x/1", {}, answer)], {"stock": "125 in stock"}) is None
    )


def test_of_a_list_the_element_the_url_names_is_taken() -> None:
    answer = {"items": [product.document() for product in products()]}
    recipe = derive(
        "https://shop.test/shop/17", [Call("GET", "https://shop.test/api/all", {}, answer)], product_record(17)
    )
    assert read(recipe, "https://shop.test/shop/30", answer) == product_record(30)
    gone = read(recipe, "https://shop.test/shop/99", answer)
    assert isinstance(gone, ShapeChange)


def test_a_place_in_a_list_that_means_nothing_elsewhere_is_not_taken() -> None:
    answer = {"items": [product.document() for product in products()]}
    calls = [Call("GET", "https://shop.test/api/all", {}, answer)]
    assert derive("https://shop.test/offer-of-the-day", calls, product_record(17)) is None


def test_every_element_of_a_list() -> None:
    answer: dict[str, Any] = {"items": [product.document() for product in products()[:12]], "page": 2}
    record = {
        "names": [product.name for product in products()[:12]],
        "prices": [f"{product.amount} EUR" for product in products()[:12]],
    }
    call = Call("GET", "https://shop.test/api/products?page=2", {}, answer)
    recipe = derive("https://shop.test/shop?page=2&utm_source=mail", [call], record)
    assert recipe is not None
    assert recipe.url_pattern == "/shop?page=*"
    assert urls(recipe, "https://shop.test/shop?page=3") == ["https://shop.test/api/products?page=3"]
    assert read(recipe, "https://shop.test/shop?page=3", {"items": answer["items"][:2]}) == {
        name: values[:2] for name, values in record.items()
    }


def test_a_post_with_the_id_in_its_body() -> None:
    body = {"query": "query { product(id: $id) { title } }", "variables": {"id": 17, "first": 1}}
    answer = {"data": {"product": {"title": "Oak Gate Latch"}}}
    call = Call(
        "POST", "https://api.other.test/graphql", {"content-type": "application/json", "cookie": "s"}, answer, body
    )
    recipe = derive("https://shop.test/p/17-oak-gate-latch", [call], {"title": "Oak Gate Latch"})
    assert recipe is not None
    requests = recipe.requests(parse_target("https://shop.test/p/18-elm"))
    assert isinstance(requests, list)
    [request] = requests
    assert request.body == {**body, "variables": {"id": 18, "first": 1}}
    assert request.headers == {"content-type": "application/json"}


def test_the_fewest_calls_that_follow_the_url_are_chosen() -> None:
    document = products()[16].document()
    featured = Call("GET", "https://shop.test/api/featured", {}, document)
    half = Call("GET", "https://shop.test/api/names/17", {}, {"name": document["name"]})
    recipe = derive("https://shop.test/shop/17", [featured, half, product_call(17)], product_record(17))
    assert urls(recipe, "https://shop.test/shop/2") == ["https://shop.test/api/products/2"]
    rest = {key: value for key, value in document.items() if key != "name"}
    split = [half, Call("GET", "https://shop.test/api/rest/17", {}, rest)]
    recipe = derive("https://shop.test/shop/17", split, product_record(17))
    assert len(urls(recipe, "https://shop.test/shop/2")) == 2


def test_a_page_whose_url_says_nothing_teaches_only_about_itself() -> None:
    recipe = derive("https://shop.test/shop/17", [product_call(17, "https://shop.test/api/today")], product_record(17))
    assert recipe is not None
    assert recipe.url_pattern == "/shop/17"
    assert isinstance(recipe.requests(parse_target("https://shop.test/shop/18")), ShapeChange)


@pytest.mark.parametrize("name", ["access_token", "api_key", "sid", "sessionId"])
def test_a_call_with_a_secret_in_its_address_is_no_recipe(name: str) -> None:
    call = product_call(17, f"https://shop.test/api/products/{{}}?{name}=abcdef")
    assert derive("https://shop.test/shop/17", [call], product_record(17)) is None


def test_a_body_with_a_secret_in_it_is_no_recipe() -> None:
    answer = {"name": "Oak Gate Latch"}
    for body, fits in (({"csrfToken": "abc"}, False), ({"author": {"id": 17}}, True)):
        call = Call("POST", "https://shop.test/api", {}, answer, body)
        assert (derive("https://shop.test/shop/17", [call], answer) is not None) is fits


def test_nothing_that_identifies_somebody_is_kept() -> None:
    headers = {"Accept": "application/json", "Cookie": "s=1", "Authorization": "x", "User-Agent": "y", "X-Token": "z"}
    call = Call("GET", "https://shop.test/api/17", headers, {"name": "Oak Gate Latch"})
    recipe = derive("https://shop.test/shop/17", [call], {"name": "Oak Gate Latch"})
    assert recipe is not None
    assert dict(recipe.calls[0].headers) == {"accept": "application/json"}


@pytest.mark.parametrize(
    "pattern, url, fits",
    [
        ("/shop/*", "https://h.test/shop/1", True),
        ("/shop/*", "https://h.test/shop/1?utm_medium=mail", True),
        ("/shop/*", "https://h.test/shop/1?page=2", False),
        ("/shop/*", "https://h.test/shop", False),
        ("/shop/*", "https://h.test/shop/1/reviews", False),
        ("/shop/*", "https://h.test/shop/1#/other", False),
        ("/app#/item/*", "https://h.test/app#/item/4", True),
        ("/a%2A", "https://h.test/a*", True),
        ("/", "https://h.test/", True),
    ],
)
def test_which_pages_a_recipe_is_for(pattern: str, url: str, *, fits: bool) -> None:
    assert matches(pattern, parse_target(url)) is fits


@given(st.lists(TEXTS, max_size=4), st.dictionaries(TEXTS, TEXTS, max_size=3))
def test_a_page_matches_its_own_pattern(path: list[str], query: dict[str, str]) -> None:
    from urllib.parse import quote, urlencode

    url = (
        "https://h.test/" + "/".join(quote(each, safe="") for each in path) + (f"?{urlencode(query)}" if query else "")
    )
    target = parse_target(url, max_chars=8192)
    assert matches(pattern_of(target, ()), target)
    assert matches(pattern_of(target, ["path.0"]), target)


@pytest.mark.parametrize(
    "field, change",
    [
        ("document.calls", {"calls": []}),
        ("document.calls.0.url", {"calls": [{"url": "ftp://h.test/"}]}),
        ("document.calls.0.url", {"calls": [{"url": "{origin}.evil.test/"}]}),
        ("document.calls.0.url", {"calls": [{"url": "{origin}@evil.test/"}]}),
        ("document.calls.0.url", {"calls": [{"url": "https://{path.0}/"}]}),
        ("document.calls.0.url", {"calls": [{"url": "{origin}/{nonsense}"}]}),
        ("document.calls.0.method", {"calls": [{"url": "{origin}/", "method": "DELETE"}]}),
        ("document.calls.0.headers.Cookie", {"calls": [{"url": "{origin}/", "headers": {"Cookie": "a=b"}}]}),
        ("document.calls.0.body", {"calls": [{"url": "{origin}/", "body": {}}]}),
        ("document.calls.0.cookies", {"calls": [{"url": "{origin}/", "cookies": {}}]}),
        ("document.fields.name.value", {"fields": {"name": {"value": "no path"}}}),
        ("document.fields.name.value", {"fields": {"name": {"value": "{$.a:0.x}"}}}),
        ("document.fields.name.call", {"fields": {"name": {"call": 7, "value": "{$.a}"}}}),
        ("document.fields.name.each", {"fields": {"name": {"each": "items", "value": "{$}"}}}),
        ("document.more", {"more": 1}),
    ],
)
def test_what_is_wrong_with_a_document_is_named(field: str, change: dict[str, Any]) -> None:
    document = {"calls": [{"url": "{origin}/api/{path.1}"}], "fields": {"name": {"value": "{$.name}"}}}
    assert recipe_of("/shop/*", document).fields.keys() == {"name"}
    with pytest.raises(BadInput) as refused:
        recipe_of("/shop/*", document | change)
    assert refused.value.field == field


def test_a_selector_is_a_part_of_what_is_asked() -> None:
    bare, by_css = (FieldSpec("price"),), (FieldSpec("price", css=".old"),)
    assert recipe_key(bare) != recipe_key(by_css)
    assert recipe_key((FieldSpec("a"), FieldSpec("b"))) == recipe_key((FieldSpec("b"), FieldSpec("a")))
