from typing import Any

import pytest

from corral.domain.sites.recipe.recipe import RecordedRecipe, StoredRecipe
from corral.runtime.new_ids import new_id
from corral.settings import load_settings
from corral.store.open import open_store
from tests.stack import Stack

DOCUMENT: dict[str, Any] = {
    "calls": [{"method": "GET", "url": "{origin}/api/products/{path.1}", "headers": {}, "body": None}],
    "fields": {"name": {"call": 0, "value": "{$.name}"}},
}


@pytest.fixture
async def recipe(stack: Stack) -> StoredRecipe:
    """One that a browser run might have taught, for a host of its own."""
    url = stack.environment.get("APP_DATABASE_URL") or load_settings(data_dir=stack.data_dir).store_url
    store = open_store(url)
    saved = await store.recipes.save(RecordedRecipe(f"{new_id()[-12:]}.test", "k", "/shop/*", DOCUMENT, "k"))
    await store.close()
    assert saved is not None
    return saved


async def test_recipes_are_listed_and_read(stack: Stack, recipe: StoredRecipe) -> None:
    [listed] = stack.client.get("/jobs/recipes", params={"url": f"https://{recipe.host}/shop/17"}).json()
    assert listed == stack.client.get(f"/jobs/recipes/{recipe.id}").json()
    assert (listed["document"], listed["pinned"], listed["version"]) == (DOCUMENT, False, 1)
    assert stack.client.get("/jobs/recipes", params={"url": "https://unheard-of.test/"}).json() == []
    assert recipe.id in {each["id"] for each in stack.client.get("/jobs/recipes?limit=200").json()}


async def test_a_recipe_is_edited_pinned_and_released(stack: Stack, recipe: StoredRecipe) -> None:
    path = f"/jobs/recipes/{recipe.id}"
    document = {**DOCUMENT, "fields": {"name": {"call": 0, "value": "{$.title}"}}}
    edited = stack.client.put(path, json={"document": document}).json()
    assert (edited["document"], edited["version"], edited["pinned"]) == (document, 2, True)
    released = stack.client.put(path, json={"pinned": False}).json()
    assert (released["document"], released["version"], released["pinned"]) == (document, 2, False)


@pytest.mark.parametrize(
    "body, field",
    [
        ({}, "document"),
        ({"document": {"calls": [], "fields": {}}}, "document.calls"),
        ({"document": {**DOCUMENT, "fields": {"name": {"value": "nothing"}}}}, "document.fields.name.value"),
        (
            {"document": {**DOCUMENT, "calls": [{"url": "{origin}/", "headers": {"Authorization": "x"}}]}},
            "document.calls.0.headers.Authorization",
        ),
        ({"document": {**DOCUMENT, "calls": [{"url": "file:///etc/passwd"}]}}, "document.calls.0.url"),
        ({"document": {**DOCUMENT, "calls": [{"url": "http://169.254.169.254/latest"}]}}, "document.calls.0.url"),
        ({"document": {**DOCUMENT, "calls": [{"url": "{origin}/api/{path.2}"}]}}, "document.calls.0.url"),
        ({"document": {**DOCUMENT, "calls": [{"url": "{origin}/api?id={query.id}"}]}}, "document.calls.0.url"),
        (
            {"document": {**DOCUMENT, "calls": [{"method": "POST", "url": "{origin}/", "body": ["{hash.0:number}"]}]}},
            "document.calls.0.body",
        ),
        ({"document": {**DOCUMENT, "fields": {"price": {"value": "{$.price}"}}}}, "document.fields"),
        ({"pinned": "perhaps"}, "pinned"),
        ({"url_pattern": "/x"}, "url_pattern"),
    ],
)
async def test_what_is_wrong_is_named_and_nothing_is_written(
    stack: Stack, recipe: StoredRecipe, body: dict[str, Any], field: str
) -> None:
    answer = stack.client.put(f"/jobs/recipes/{recipe.id}", json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["field"] == field
    assert stack.client.get(f"/jobs/recipes/{recipe.id}").json()["version"] == 1


async def test_a_deleted_recipe_is_gone(stack: Stack, recipe: StoredRecipe) -> None:
    path = f"/jobs/recipes/{recipe.id}"
    assert stack.client.delete(path).status_code == 200
    for answer in (stack.client.get(path), stack.client.delete(path), stack.client.put(path, json={"pinned": True})):
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == "not_found"
    assert stack.client.get("/jobs/recipes/not-an-id").status_code == 422
