"""Campaigns over HTTP: many sites started by one request, watched together."""

from tests.stack import Stack
from tests.waiting import block_until


def test_sites_are_scraped_together_and_seen_together(stack: Stack) -> None:
    sites = {"first": [f"{stack.site}/articles", f"{stack.site}/"], "second": [f"{stack.site}/articles"]}
    body = {"sites": sites, "depends_on": {"second": ["first"]}}
    headers = {"Idempotency-Key": f"campaign {stack.url}"}
    started = stack.client.post("/sites/campaigns", json=body, headers=headers)
    assert started.status_code == 200, started.text
    told = started.json()
    assert [(each["site"], each["waits_for"]) for each in told["sites"]] == [("first", []), ("second", ["first"])]
    again = stack.client.post("/sites/campaigns", json=body, headers=headers)
    assert again.json()["campaign_id"] == told["campaign_id"]
    assert again.headers["Idempotent-Replay"] == "true"

    path = f"/sites/campaigns/{told['campaign_id']}"
    ended = block_until(lambda: (now := stack.client.get(path).json())["ended_at"] and now, 60)
    assert (ended["status"], ended["done"], ended["by_status"]) == ("completed", 3, {"completed": 2})
    first, second = ended["sites"]
    assert second["started_at"] >= first["finished_at"]
    assert ended in stack.client.get("/sites/campaigns?limit=200").json()
    assert stack.client.get(path, params={"site": "second"}).json()["sites"] == [second]


def test_a_bad_campaign_is_refused_and_starts_nothing(stack: Stack) -> None:
    before = stack.client.get("/sites/campaigns?limit=200").json()
    url = f"{stack.site}/articles"
    for body, said in (
        ({"sites": {"a": [url], "b": ["http://169.254.169.254/"]}}, "169.254"),
        ({"sites": {}}, "no site is given"),
        ({"sites": {"a": [url]}, "depends_on": {"b": ["a"]}}, "b is no site of this campaign"),
        ({"sites": {"a": [url], "b": [url]}, "depends_on": {"a": ["b"], "b": ["a"]}}, "a -> b -> a"),
        (None, "no configured site has URLs"),
    ):
        answer = stack.client.post("/sites/campaigns", json=body)
        assert answer.status_code == 422, answer.text
        assert said in answer.text
    assert stack.client.get("/sites/campaigns?limit=200").json() == before
    assert stack.client.get("/sites/campaigns/01a1e125-d795-7a16-b637-e8e9989dd5d7").status_code == 404


def test_health_and_the_report_agree_about_the_sites_of_a_running_campaign(stack: Stack) -> None:
    sites = {"bad": [f"{stack.site}/gone"], "slow": [f"{stack.site}/slow?seconds=20"]}
    campaign = stack.client.post("/sites/campaigns", json={"sites": sites}).json()["campaign_id"]

    def agree() -> bool:
        told = stack.client.get(f"/sites/campaigns/{campaign}/report").json()["sites"]
        component = stack.client.get("/health").json()["components"].get("sites", {})
        expected = {each["health"] for each in told}
        failing = [each["site"] for each in told if each["health"] == "failing"]
        return failing == ["bad"] and component.get("failing") == failing and set(component["by_health"]) == expected

    block_until(agree, 60)
    assert stack.client.get("/health").json()["components"]["sites"]["status"] == "degraded"
    for each in stack.client.get(f"/sites/campaigns/{campaign}").json()["sites"]:
        stack.client.post(f"/jobs/runs/{each['job_id']}/cancel")
    block_until(lambda: "sites" not in stack.client.get("/health").json()["components"], 60)
