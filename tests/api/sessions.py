"""Helpers of the tests of sessions, shared with other tests."""

from typing import Any

import httpx

from tests.stack import Stack


def log_in(site: str) -> dict[str, str]:
    """The cookie of a fresh login."""
    answer = httpx.post(f"{site}/login", data={"username": "demo", "password": "demo"})
    return {"name": "demo_session", "value": answer.cookies["demo_session"]}


def a_job(stack: Stack) -> dict[str, Any]:
    return stack.job("/account", requires_auth=True, strategy="auto")


def add_session(stack: Stack, job: dict[str, Any], *cookies: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = stack.client.post("/jobs/sessions", json={"job_id": job["id"], "cookies": cookies, **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def open_intervention(stack: Stack, run: dict[str, Any]) -> dict[str, Any]:
    found = stack.client.get("/interventions?status=open&limit=200").json()
    [mine] = [each for each in found if each["run_id"] == run["id"]]
    return dict(mine)
