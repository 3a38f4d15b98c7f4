"""What a client gets wrong without noticing: misspelt parameters, wrong types, repeated keys, other content types."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from corral.domain.jobs.schedule import ACCEPTED
from corral.fetch.limits import FetchLimits
from tests.slack import SLACK
from tests.stack import Stack

UNKNOWN = "01a1de72-ef57-70cc-9efc-dbcdc746657c"


def routes(stack: Stack, *methods: str) -> Iterator[tuple[str, str]]:
    for path, operations in stack.client.get("/openapi.json").json()["paths"].items():
        for method in set(methods) & set(operations):
            if path.endswith(".json"):
                continue  # the interface of scrapyd: further parameters are arguments of a spider
            known = UNKNOWN
            filled = path
            while "{" in filled:
                start, end = filled.index("{"), filled.index("}")
                filled = filled[:start] + known + filled[end + 1 :]
            yield method.upper(), filled


def test_a_misspelt_parameter_is_named_on_every_route(stack: Stack) -> None:
    asked = list(routes(stack, "get", "post", "put", "patch", "delete"))
    assert len(asked) > 25
    for method, path in asked:
        answer = stack.client.request(method, path, params={"statsu": "failed"}, json={} if method != "GET" else None)
        assert answer.status_code == 422, f"{method} {path}: {answer.text}"
        error = answer.json()["error"]
        assert error["field"] == "statsu", f"{method} {path}: {error}"


def test_the_known_parameters_are_listed(stack: Stack) -> None:
    hints = {
        path: stack.client.get(path, params={"sicne": "1"}).json()["error"]["hint"]
        for path in ("/jobs/records", "/events/stream", "/jobs/runs", "/health")
    }
    assert hints == {
        "/jobs/records": "known are: cursor, date_from, date_to, job_id, limit, run_id, withheld",
        "/events/stream": "known are: job_id, level, run_id",
        "/jobs/runs": "known are: cursor, job_id, limit, status",
        "/health": "this address takes none",
    }


def test_a_parameter_given_twice_is_refused_and_a_page_for_people_takes_any(stack: Stack) -> None:
    twice = stack.client.get("/jobs?limit=1&limit=2")
    assert (twice.status_code, twice.json()["error"]["field"]) == (422, "limit")
    assert stack.client.get("/?from=a-link").status_code == 200


WRONG_TYPES: list[tuple[dict[str, Any], str]] = [
    ({"max_attempts": True}, "max_attempts"),
    ({"max_attempts": "3"}, "max_attempts"),
    ({"max_attempts": 3.0}, "max_attempts"),
    ({"timeout_s": "5"}, "timeout_s"),
    ({"timeout_s": True}, "timeout_s"),
    ({"requires_auth": "yes"}, "requires_auth"),
    ({"requires_auth": 1}, "requires_auth"),
    ({"respect_robots": "false"}, "respect_robots"),
    ({"fields": [{"name": "a", "all": "true"}]}, "fields.0.all"),
    ({"fields": [{"name": "a", "css": ""}]}, "fields.0.css"),
    ({"fields": [{"name": "a", "selector": ""}]}, "fields.0.selector"),
    ({"fields": [{"name": "a", "css": " "}]}, "fields.0"),
    ({"fields": [{"name": "a", "css": "h1", "selector": "h2"}]}, "fields.0"),
    ({"fields": [{"name": "a", "css": "h1", "attr": ""}]}, "fields.0.attr"),
    ({"fields": [{"name": "a", "attr": "href"}]}, "fields.0"),
    ({"fields": ["a", " a"]}, "fields.1"),
    ({"fields": ["a ", {"name": "a", "css": "h1"}]}, "fields.1"),
    ({"frequency": "0 0 L * *"}, "frequency"),
    ({"frequency": "H * * * *"}, "frequency"),
    ({"frequency": "50-10 * * * *"}, "frequency"),
    ({"frequency": "0 0 * * * *"}, "frequency"),
    ({"crawl_mode": "site"}, "crawl_mode"),
    ({"list_config": {}}, "list_config"),
    ({"list_config": {"item_links": "a"}}, "list_config"),
    ({"proxy_policy": ""}, "proxy_policy"),
]


@pytest.mark.parametrize("change, field", WRONG_TYPES, ids=[str(change)[:60] for change, _ in WRONG_TYPES])
def test_what_could_be_misread_is_refused_in_a_new_job_and_in_a_change(
    stack: Stack, change: dict[str, Any], field: str
) -> None:
    body = {"target_url": f"{stack.site}/articles", "fields": ["title"], **change}
    created = stack.client.post("/jobs", json=body)
    assert (created.status_code, created.json()["error"].get("field")) == (422, field), created.text
    assert created.json()["error"]["hint"]
    newest = stack.job()
    changed = stack.client.patch(f"/jobs/{newest['id']}", json=change)
    assert changed.status_code == 422, changed.text
    assert stack.client.get(f"/jobs/{newest['id']}").json() == newest


def test_an_override_of_the_wrong_type_is_refused(stack: Stack) -> None:
    answer = stack.client.post(f"/jobs/{stack.job()['id']}/runs", json={"max_attempts": True})
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "max_attempts")


def test_both_names_of_a_selector_may_say_the_same_and_whole_seconds_are_seconds(stack: Stack) -> None:
    job = stack.job(fields=[{"name": "a", "css": "h1", "selector": "h1"}], timeout_s=5)
    assert (job["fields"], job["timeout_s"]) == ([{"name": "a", "css": "h1"}], 5)


@pytest.mark.parametrize(
    "body, key",
    [
        ('{"target_url": "%s", "fields": ["title"], "strategy": "http", "fields": ["h1"]}', "fields"),
        ('{"target_url": "%s", "fields": [{"name": "a", "css": "h1", "c\\u0073s": "h2"}]}', "css"),
    ],
)
def test_a_repeated_key_is_named(stack: Stack, body: str, key: str) -> None:
    answer = stack.client.post(
        "/jobs", content=body % f"{stack.site}/articles", headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, key), answer.text


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", None])
def test_a_body_of_another_kind_is_told_what_is_expected(stack: Stack, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    answer = stack.client.post("/jobs", content=b'{"target_url": "http://example.com"}', headers=headers)
    assert (answer.status_code, answer.json()["error"]["field"]) == (415, "Content-Type")
    assert "application/json" in answer.json()["detail"]


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/Problem+JSON"])
def test_every_spelling_of_json_is_taken(stack: Stack, kind: str) -> None:
    body = f'{{"target_url": "{stack.site}/articles", "fields": ["title"]}}'
    answer = stack.client.post("/jobs", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 200, answer.text


def test_head_answers_as_get_does_without_a_body(stack: Stack) -> None:
    job = stack.job()
    for path in ("/jobs", f"/jobs/{job['id']}", f"/jobs/{UNKNOWN}", "/health", "/", "/static/app.js", "/jobs?x=1"):
        got, head = stack.client.get(path), stack.client.head(path)
        assert head.status_code == got.status_code, path
        assert head.content == b""
        assert head.headers["content-type"] == got.headers["content-type"]
        assert head.headers["content-length"] == got.headers["content-length"]
    assert stack.client.head(f"/jobs/{job['id']}/clone").status_code == 405


def test_head_of_a_stream_ends_at_once(stack: Stack) -> None:
    began = time.monotonic()
    answer = stack.client.head("/events/stream")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert time.monotonic() - began < 5 * SLACK


def test_the_schema_says_what_is_accepted_and_what_is_not_changed(stack: Stack) -> None:
    job = stack.client.get("/openapi.json").json()["components"]["schemas"]["JobCreate"]["properties"]
    assert ACCEPTED in job["frequency"]["description"]
    first_byte = f"{FetchLimits().first_byte_s:g} s for the first byte"
    assert first_byte in job["timeout_s"]["description"]
    assert all(mode in job["crawl_mode"]["description"] for mode in ("single", "list", "crawl"))
