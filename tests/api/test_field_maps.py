"""How the fields of a job are found, changed one by one: through the HTTP edge, on every database."""

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.services.ports import free_port
from tests.stack import Stack

BARE = {"type": None, "css": None, "xpath": None, "jsonpath": None, "attr": None, "all": False, "regex": None}


def path_of(job: dict[str, Any]) -> str:
    return f"/jobs/{job['id']}/field-maps"


def put(stack: Stack, job: dict[str, Any], *maps: Any) -> httpx.Response:
    return stack.client.put(path_of(job), json={"field_maps": maps})


def names(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()["field_maps"]]


def test_maps_are_put_by_name_and_the_others_stay(stack: Stack) -> None:
    job = stack.job(fields=["title", {"name": "price", "css": ".price"}, "date"])
    before = stack.client.get(path_of(job)).json()
    assert before["field_maps"][:2] == [{"name": "title", **BARE}, {"name": "price", **BARE, "css": ".price"}]
    new = {"name": "price", "css": ".cost", "attr": "data-amount", "regex": r"\d+"}
    answer = put(stack, job, new, {"name": "tags", "selector": "li", "all": True})
    assert names(answer) == ["title", "price", "date", "tags"]
    assert answer.json()["field_maps"][1] == {**BARE, **new}
    assert answer.json()["field_maps"][3] == {**BARE, "name": "tags", "css": "li", "all": True}
    assert stack.client.get(path_of(job)).json() == answer.json()
    shown = stack.client.get(f"/jobs/{job['id']}").json()["fields"]
    assert shown == ["title", new, "date", {"name": "tags", "css": "li", "all": True}]
    # What was read can be put back as it is, and a bare name forgets the selector.
    assert stack.client.put(path_of(job), json=before).status_code == 200
    assert put(stack, job, "price").json()["field_maps"][1] == {"name": "price", **BARE}


def test_runs_started_afterwards_use_them(stack: Stack) -> None:
    job = stack.job(fields=["title"])
    put(
        stack,
        job,
        {"name": "title", "css": "h1"},
        {"name": "links", "css": "li.article a", "attr": "href", "all": True},
    )
    run = stack.wait_for_end(stack.start(job)["id"])
    [record] = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
    assert record["data"]["title"] == "Articles"
    assert len(record["data"]["links"]) == 10
    stack.client.delete(f"{path_of(job)}/title").raise_for_status()
    run = stack.wait_for_end(stack.start(job)["id"])
    [record] = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
    assert list(record["data"]) == ["title", "links"]


def test_maps_put_at_the_same_time_are_all_kept(stack: Stack) -> None:
    job = stack.job(fields=["title"])
    ready = threading.Barrier(6)

    def add(number: int) -> int:
        ready.wait(10)
        return put(stack, job, {"name": f"f{number}", "css": "p"}).status_code

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(add, range(6))) == {200}
    assert sorted(names(stack.client.get(path_of(job)))) == ["f0", "f1", "f2", "f3", "f4", "f5", "title"]


@pytest.mark.parametrize("name", ["a/b", "validate", "price €", "50 %"])
def test_a_map_is_removed_by_its_name_whatever_it_is(stack: Stack, name: str) -> None:
    job = stack.job(fields=["title", {"name": name, "css": "p"}])
    answer = stack.client.delete(f"{path_of(job)}/{quote(name, safe='')}")
    assert names(answer) == ["title", name]
    assert answer.json()["field_maps"][1] == {"name": name, **BARE}


def test_a_field_stays_without_its_map_and_an_unknown_one_is_not_found(stack: Stack) -> None:
    job = stack.job(fields=["title"])
    unknown = stack.client.delete(f"{path_of(job)}/price")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "not_found")
    assert "'price'" in unknown.json()["detail"]
    assert names(stack.client.delete(f"{path_of(job)}/title")) == ["title"]
    assert names(stack.client.get(path_of(job))) == ["title"]


@pytest.mark.parametrize(
    "bad, field, told",
    [
        ({"name": "price", "css": "p["}, "field_maps.1", "'price': the CSS selector"),
        ({"name": "price", "regex": "a("}, "field_maps.1.regex", "'price': the pattern cannot be read at position 1"),
        ({"name": "h1"}, "field_maps.1", "'h1': the field 'h1' is asked for twice"),
        ("  ", "field_maps.1", "blank name"),
        ({"name": "price", "jq": ".p"}, "field_maps.1.jq", "not permitted"),
        ({"name": "price", "css": "p", "all": "yes"}, "field_maps.1.all", "boolean"),
    ],
)
@pytest.mark.parametrize("validates", [False, True])
def test_a_bad_map_is_refused_by_name_and_place(stack: Stack, bad: Any, field: str, told: str, validates: bool) -> None:
    job = stack.job(fields=["title"])
    body = {"field_maps": ["h1", bad]}
    if validates:
        answer = stack.client.post(f"{path_of(job)}/validate", json=body)
    else:
        answer = stack.client.put(path_of(job), json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["field"] == field
    assert told in answer.json()["detail"]
    assert names(stack.client.get(path_of(job))) == ["title"]


def test_nothing_at_all_is_refused(stack: Stack) -> None:
    job = stack.job()
    assert put(stack, job).status_code == 422
    assert stack.client.put(path_of(job)).status_code == 422
    assert stack.client.put(path_of(job), json={"field_maps": ["h1"], "replace": True}).status_code == 422
    full = [f"f{number}" for number in range(200)]
    answer = put(stack, job, *full)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "fields")
    assert names(stack.client.get(path_of(job))) == ["title"]


@pytest.mark.parametrize("method, tail", [("GET", ""), ("PUT", ""), ("POST", "/validate"), ("DELETE", "/title")])
def test_an_unknown_job_is_not_found(stack: Stack, method: str, tail: str) -> None:
    body = {"field_maps": ["h1"]} if method in ("PUT", "POST") else None
    for job_id, status in ((uuid.uuid4(), 404), ("nonsense", 422)):
        answer = stack.client.request(method, f"/jobs/{job_id}/field-maps{tail}", json=body)
        assert answer.status_code == status, answer.text


def test_validating_tries_them_on_the_target_and_saves_nothing(stack: Stack) -> None:
    job = stack.job(fields=["title", {"name": "ghost", "css": ".ghost"}])
    maps = [{"name": "heads", "css": "h2", "all": True}, {"name": "item", "css": "li.article", "attr": "href"}, "price"]
    answer = stack.client.post(f"{path_of(job)}/validate", json={"field_maps": maps})
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert (told["url"], told["fetched_via"], told["warnings"]) == (f"{stack.site}/articles", "http", [])
    heads, item, price = told["results"]
    assert (heads["name"], heads["found"], heads["match_count_estimate"], heads["problem"]) == ("heads", True, 10, None)
    assert len(heads["value_preview"]) == 10
    assert (item["found"], item["match_count_estimate"]) == (False, 10)
    assert "no attribute 'href'" in item["problem"]
    assert (price["found"], price["match_count_estimate"]) == (False, 0)
    assert names(stack.client.get(path_of(job))) == ["title", "ghost"]
    own = stack.client.post(f"{path_of(job)}/validate").json()["results"]
    assert [(each["name"], each["found"]) for each in own] == [("title", True), ("ghost", False)]


@pytest.mark.browser
def test_a_job_behind_a_login_is_looked_at_with_its_session(stack: Stack) -> None:
    job = stack.job("/account", requires_auth=True, strategy="auto", fields=["h1"])
    refused = stack.client.post(f"{path_of(job)}/validate")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "blocked")
    login = httpx.post(f"{stack.site}/login", data={"username": "demo", "password": "demo"})
    session = {"cookies": [{"name": "demo_session", "value": login.cookies["demo_session"]}], "job_id": job["id"]}
    stack.client.post("/jobs/sessions", json=session).raise_for_status()
    told = stack.client.post(f"{path_of(job)}/validate").json()
    assert told["fetched_via"] == "browser"
    assert told["results"][0]["value_preview"] == "Your account"
    assert login.cookies["demo_session"] not in str(told)


def test_a_job_with_a_proxy_is_never_looked_at_without_it(stack: Stack) -> None:
    job = stack.job(proxy_policy=f"http://127.0.0.1:{free_port()}")
    answer = stack.client.post(f"{path_of(job)}/validate")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "network")
    assert "proxy" in answer.json()["detail"]
