"""Channels of alerts over HTTP."""

from tests.stack import Stack


def test_a_channel_is_written_shown_without_its_secrets_tested_and_deleted(stack: Stack) -> None:
    path = "/alerts/channels/operations"
    body = {"kind": "slack", "url": f"{stack.site}/no-such-hook/canary", "rules": {"error_rate": 0.5}}
    written = stack.client.put(path, json=body)
    assert written.status_code == 200, written.text
    assert written.json()["rules"]["error_rate"] == 0.5
    listed = stack.client.get("/alerts/channels")
    assert written.json() in listed.json()
    assert "canary" not in written.text + listed.text

    run = stack.client.post(f"{path}/test").json()
    ended = stack.wait_for_end(run["id"])
    assert (ended["kind"], ended["status"], ended["failure_code"]) == ("alert", "failed", "policy")
    assert "canary" not in str(ended)

    assert stack.client.delete(path).status_code == 200
    assert stack.client.get(path).status_code == 404
    assert stack.client.post(f"{path}/test").status_code == 404


def test_a_bad_channel_is_refused(stack: Stack) -> None:
    for body, field in (
        ({"kind": "webhook", "url": f"{stack.site}/x"}, "secret"),
        ({"kind": "email", "to": []}, "to"),
        ({"kind": "slack", "url": "http://169.254.169.254/"}, "url"),
        ({"kind": "slack", "url": f"{stack.site}/x", "rules": {"error_rate": 9}}, "rules.error_rate"),
    ):
        refused = stack.client.put("/alerts/channels/bad", json=body)
        assert refused.status_code == 422, refused.text
        assert refused.json()["error"]["field"] == field
    assert stack.client.get("/alerts/channels/bad").status_code == 404


def test_the_report_of_a_campaign_is_json_and_text(stack: Stack) -> None:
    body = {"sites": {"first": [f"{stack.site}/articles"]}}
    campaign = stack.client.post("/sites/campaigns", json=body).json()
    stack.wait_for_end(campaign["sites"][0]["job_id"])
    path = f"/sites/campaigns/{campaign['campaign_id']}/report"
    report = stack.client.get(path).json()
    assert (report["status"], report["done"], report["look_at"]) == ("completed", 1, [])
    assert report["sites"][0]["latency"]["pages"] == 1
    text = stack.client.get(path, params={"format": "text"})
    assert text.headers["content-type"].startswith("text/plain")
    assert "nothing to look at" in text.text
