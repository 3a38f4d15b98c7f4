"""Logins over HTTP: stored sealed, used by the runs that need them, waited for where they are missing or dead."""

import uuid
from typing import Any

import pytest

from tests.api.sessions import a_job, add_session, log_in, open_intervention
from tests.stack import Stack

pytestmark = pytest.mark.browser
CANARY = "canary-of-the-session-tests"
ORIGIN = "origins.0.localStorage.0.value"


def test_without_a_session_the_run_waits_and_a_login_lets_it_go_on(stack: Stack) -> None:
    run = stack.start(a_job(stack))
    held = stack.until(run["id"], "waiting_for_human")
    assert (held["failure_code"], held["failure_detail"], held["attempt"]) == ("blocked", "no_session", 1)
    waiting = open_intervention(stack, run)
    assert (waiting["kind"], waiting["status"], waiting["job_id"]) == ("login", "open", run["job_id"])
    assert waiting["url"].endswith("/account")
    assert stack.client.get(f"/interventions/{waiting['id']}").json() == waiting

    session = {"cookies": [log_in(stack.site)]}
    answer = stack.client.post(f"/interventions/{waiting['id']}/resolve", json={"session": session})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["status"], answer.json()["run_status"]) == ("resolved", "queued")
    done = stack.wait_for_end(run["id"])
    assert (done["status"], done["attempt"]) == ("completed", 1)
    assert done["stats"]["title"] == "Your account"
    assert done["failure_code"] is done["error_message"] is None
    told = stack.messages(run["id"])
    assert told[2:4] == ["Run waits for a person", "Run resumed"]
    again = stack.client.post(f"/interventions/{waiting['id']}/resolve")
    assert again.status_code == 409
    assert "resolved" in again.json()["error"]["message"]


def test_a_dead_session_holds_the_run_again(stack: Stack) -> None:
    job = a_job(stack)
    session = add_session(stack, job, {"name": "demo_session", "value": CANARY})
    run = stack.start(job)
    held = stack.until(run["id"], "waiting_for_human")
    assert (held["failure_code"], held["failure_detail"]) == ("blocked", "session_expired")
    checked = stack.client.post(f"/jobs/sessions/{session['id']}/validate").json()
    assert (checked["valid"], checked["http_status"], checked["strategy"]) == (False, 200, "browser")
    waiting = open_intervention(stack, run)
    assert CANARY not in str((held, waiting, checked))

    renewed = add_session(stack, job, log_in(stack.site))
    assert (renewed["id"], renewed["version"], renewed["check"]) == (session["id"], 2, "unchecked")
    assert stack.client.post(f"/jobs/sessions/{session['id']}/validate").json()["valid"] is True
    [info] = stack.client.get(f"/jobs/sessions?job_id={job['id']}").json()
    assert info["check"] == "valid"
    assert info["checked_at"] is not None
    stack.client.post(f"/interventions/{waiting['id']}/resolve").raise_for_status()
    assert stack.wait_for_end(run["id"])["status"] == "completed"


def test_reads_never_return_what_was_posted(stack: Stack) -> None:
    job = a_job(stack)
    cookie = {"name": "sid", "value": CANARY, "domain": ".example.test", "httpOnly": True, "sameSite": "Strict"}
    more = {"storage": {"https://example.test": {"k": CANARY}}, "headers": {"Authorization": f"Bearer {CANARY}"}}
    session = add_session(stack, job, cookie, name="mine", **more)
    listed = stack.client.get("/jobs/sessions?limit=200").text
    assert CANARY not in str(session) + listed
    assert (session["name"], session["cookies"], session["domains"]) == ("mine", 1, [".example.test"])
    assert (session["origins"], session["headers"]) == (["https://example.test"], ["authorization"])


@pytest.mark.parametrize(
    "content, domains, origins",
    [
        # A storage state of Playwright, whole.
        (
            {
                "cookies": [{"name": "a", "value": CANARY, "domain": "a.test", "path": "/", "expires": -1,
                             "httpOnly": True, "secure": False, "sameSite": "None", "partitionKey": "https://b.test"}],
                "origins": [{"origin": "http://a.test", "localStorage": [{"name": "k", "value": CANARY}]}],
            },
            ["a.test"],
            ["http://a.test"],
        ),
        # What extensions of browsers export.
        (
            {"cookies": [{"name": "a", "value": CANARY, "domain": ".a.test", "expirationDate": 4e9, "hostOnly": False,
                          "sameSite": "no_restriction", "session": False, "storeId": "0", "id": 1},
                         {"name": "b", "value": CANARY, "domain": ".a.test", "expirationDate": 4e9, "sameSite": None}]},
            [".a.test"],
            [],
        ),
        ({"cookies": f"# comment\n#HttpOnly_a.test\tFALSE\t/\tTRUE\t4000000000\tsid\t{CANARY}\n"}, ["a.test"], []),
        ({"cookies": f"sid={CANARY}; lang=en"}, ["127.0.0.1"], []),
    ],
)  # fmt: skip
def test_what_programs_export_is_taken_as_it_is(
    stack: Stack, content: dict[str, Any], domains: list[str], origins: list[str]
) -> None:
    session = stack.client.post("/jobs/sessions", json={"job_id": a_job(stack)["id"], **content})
    assert session.status_code == 200, session.text
    told = session.json()
    assert (told["domains"], told["origins"]) == (domains, origins)
    has_end = told["expires_at"] is not None
    assert has_end == ("expirationDate" in str(content) or "4000000000" in str(content))


def test_the_same_request_sent_twice_writes_once(stack: Stack) -> None:
    job = a_job(stack)
    body = {"job_id": job["id"], "cookies": [{"name": "a", "value": CANARY}]}
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    first = stack.client.post("/jobs/sessions", json=body, headers=headers)
    second = stack.client.post("/jobs/sessions", json=body, headers=headers)
    assert first.json() == second.json()
    assert second.headers["Idempotent-Replay"] == "true"
    other = stack.client.post("/jobs/sessions", json={**body, "name": "other"}, headers=headers)
    assert other.status_code == 422


@pytest.mark.parametrize(
    "change, status, field",
    [
        ({"job_id": str(uuid.uuid4())}, 404, None),
        ({"job_id": "x"}, 422, "job_id"),
        ({"cookies": []}, 422, "cookies"),
        ({"cookies": [{"name": "a", "value": f"{CANARY}\n"}]}, 422, "cookies.0.value"),
        ({"cookies": [{"name": "a", "value": CANARY, "sameSite": CANARY}]}, 422, "cookies.0.sameSite"),
        ({"cookies": [{"name": "a", "value": CANARY, "domain": ".com"}]}, 422, "cookies.0.domain"),
        ({"cookies": [{"name": "a", "value": CANARY, "vaule": CANARY}]}, 422, "cookies.0.vaule"),
        ({"cookies": [{"name": "a", "value": [CANARY]}]}, 422, "cookies.0.value"),
        ({"cookies": CANARY}, 422, "cookies"),
        ({"cookies": {"a": CANARY}}, 422, "cookies"),
        ({"origins": [{"origin": "http://a.test", "localStorage": [{"name": CANARY}]}]}, 422, ORIGIN),
        ({"headers": {"Cookie": CANARY}}, 422, "headers"),
        ({"cookies": [], "headers": {"Authorization": f"Bearer {CANARY}"}}, 422, "headers"),
        ({"storage": {"nowhere": {"a": CANARY}}}, 422, "storage"),
    ],
)
def test_what_is_wrong_is_named_and_not_quoted(
    stack: Stack, change: dict[str, Any], status: int, field: str | None
) -> None:
    body = {"job_id": a_job(stack)["id"], "cookies": [{"name": "a", "value": CANARY}], **change}
    answer = stack.client.post("/jobs/sessions", json=body)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"].get("field") == field
    assert CANARY not in answer.text


def test_a_session_is_gone_once_deleted(stack: Stack) -> None:
    session = add_session(stack, a_job(stack), {"name": "a", "value": CANARY})
    assert stack.client.delete(f"/jobs/sessions/{session['id']}").status_code == 200
    for answer in (
        stack.client.delete(f"/jobs/sessions/{session['id']}"),
        stack.client.post(f"/jobs/sessions/{session['id']}/validate"),
        stack.client.get(f"/interventions/{session['id']}"),
        stack.client.post(f"/interventions/{session['id']}/resolve"),
    ):
        assert answer.status_code == 404


def test_cancelling_the_run_closes_its_intervention(stack: Stack) -> None:
    run = stack.start(a_job(stack))
    stack.until(run["id"], "waiting_for_human")
    waiting = open_intervention(stack, run)
    for session, field in (({}, "session.cookies"), ({"cookies": CANARY}, "session.cookies")):
        refused = stack.client.post(f"/interventions/{waiting['id']}/resolve", json={"session": session})
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, field)
        assert CANARY not in refused.text
    assert stack.client.get(f"/interventions/{waiting['id']}").json()["status"] == "open"
    stack.client.post(f"/jobs/runs/{run['id']}/cancel").raise_for_status()
    assert stack.client.get(f"/interventions/{waiting['id']}").json()["status"] == "cancelled"
    assert stack.client.post(f"/interventions/{waiting['id']}/resolve").status_code == 409
