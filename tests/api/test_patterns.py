import pytest

from tests.stack import Stack


def test_a_pattern_is_kept_searched_for_and_shown(stack: Stack) -> None:
    fields = ["title", {"name": "words", "css": "title", "regex": r"(\w+)"}]
    job = stack.job("/articles", fields=fields)
    assert job["fields"] == fields
    run = stack.wait_for_end(stack.start(job)["id"])
    assert run["status"] == "completed", run
    [record] = stack.client.get(f"/jobs/runs/{run['id']}/records").json()
    assert record["data"]["words"] == "Articles"


@pytest.mark.parametrize(
    "regex, said",
    [("(a", "position 0"), ("ab[c", "position 2"), ("x" * 1500, "1000"), ("(?P<a>b)(?P<a>c)", "position")],
)
def test_a_pattern_that_cannot_be_read_is_refused_with_the_place(stack: Stack, regex: str, said: str) -> None:
    fields = ["title", {"name": "price", "regex": regex}]
    answer = stack.client.post("/jobs", json={"target_url": f"{stack.site}/articles", "fields": fields})
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert (error["code"], error["field"]) == ("bad_pattern", "fields.1.regex")
    assert said in error["message"]


def test_a_pattern_that_never_ends_costs_its_field(stack: Stack) -> None:
    fields = ["title", {"name": "slow", "regex": "(?:.?.?)*(?:.?.?)*~{9}"}]
    job = stack.job("/articles", fields=fields, timeout_s=30)
    run = stack.wait_for_end(stack.start(job)["id"], 60)
    assert (run["status"], run["failure_code"], run["failure_detail"]) == ("partial", "limit", "selector"), run
    assert "slow" in run["error_message"]
    assert run["stats"]["problems"]["slow"] == "limit:selector"
