"""The configuration of a site over HTTP: stored, merged, with its sources."""

from tests.stack import Stack


def test_a_configuration_is_written_read_and_deleted(stack: Stack) -> None:
    path = "/sites/www.configured.example/config"
    before = stack.client.get(path).json()
    assert (before["site"], before["stored"]) == ("configured.example", None)
    assert before["values"]["concurrency"] == {"value": 10, "source": "settings (APP_HOST_CONCURRENCY)"}

    body = {"concurrency": 2, "budget": {"requests": 5}, "delay_s": None}
    written = stack.client.put(path, json=body)
    assert written.status_code == 200, written.text
    told = stack.client.get("/sites/shop.configured.example/config").json()
    assert told == written.json()
    assert told["stored"] == {"concurrency": 2, "budget": {"requests": 5}}
    assert told["values"]["concurrency"] == {"value": 2, "source": "api"}
    assert told["values"]["budget.requests"] == {"value": 5, "source": "api"}
    assert told in stack.client.get("/sites/configs").json()

    assert stack.client.delete(path).status_code == 200
    assert stack.client.get(path).json() == before
    assert stack.client.delete(path).status_code == 404


def test_a_bad_configuration_is_refused_and_nothing_is_written(stack: Stack) -> None:
    path = "/sites/refused.example/config"
    for body, field, said in (
        ({"concurrency": 0, "delay_s": "x"}, "concurrency", "delay_s: must be a number"),
        ({"colour": "red"}, "colour", "is not an option of a site"),
        ({"proxy_policy": "http://user:canary@proxy.example:1"}, "proxy_policy", "password"),
        ({"depends_on": ["refused.example"]}, "depends_on", "refused.example -> refused.example"),
    ):
        answer = stack.client.put(path, json=body)
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]["field"] == field
        assert said in answer.text
        assert "canary" not in answer.text
    assert stack.client.put("/sites/sub.refused.example/config", json={}).status_code == 422
    assert stack.client.put("/sites/%20/config", json={}).status_code == 422
    assert stack.client.get(path).json()["stored"] is None


def test_two_people_who_edit_a_configuration_do_not_overwrite_each_other(stack: Stack) -> None:
    path = "/sites/edited.example/config"
    assert "ETag" not in stack.client.get(path).headers
    early = stack.client.put(path, json={"concurrency": 2}, headers={"If-Match": '"none"'})
    assert (early.status_code, early.json()["error"]["code"]) == (409, "site_config_changed")
    read = stack.client.put(path, json={"concurrency": 2}).headers["ETag"]
    assert stack.client.get(path).headers["ETag"] == read
    first = stack.client.put(path, json={"concurrency": 3}, headers={"If-Match": read})
    assert first.status_code == 200, first.text
    second = stack.client.put(path, json={"concurrency": 4}, headers={"If-Match": read})
    assert second.status_code == 409, second.text
    assert "edited.example" in second.json()["error"]["message"]
    assert stack.client.get(path).json()["stored"] == {"concurrency": 3}
    assert stack.client.put(path, json={"concurrency": 5}).status_code == 200, "without If-Match the last one wins"
