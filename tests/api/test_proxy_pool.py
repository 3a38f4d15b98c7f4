"""The proxy pool over HTTP."""

import httpx

from corral.domain.proxies.echo import read_echo
from tests.stack import Stack

PASSWORD = "canary-of-a-list"


def test_proxies_are_imported_listed_and_deleted_without_showing_credentials(stack: Stack) -> None:
    client = stack.client
    body = {"proxies": [f"http://user:{PASSWORD}@192.0.2.7:8080", "socks5://192.0.2.8:1080", 5], "source": "mine"}
    imported = client.post("/proxies/import", json=body)
    assert imported.status_code == 200
    assert (imported.json()["imported"], imported.json()["malformed"][0]["index"]) == (2, 3)
    listed = client.get("/proxies", params={"state": "unchecked", "limit": 2})
    found = {each["address"]: each for each in listed.json()}
    assert set(found) == {"http://***@192.0.2.7:8080", "socks5://192.0.2.8:1080"}
    assert PASSWORD not in listed.text + imported.text
    assert client.get("/proxies/stats").json()["by_state"]["unchecked"] >= 2
    for each in found.values():
        assert client.delete(f"/proxies/{each['id']}").json() == {"deleted": 1}
        assert client.get(f"/proxies/{each['id']}").status_code == 404
    assert client.get("/proxies/tiers").json() == []
    assert client.get("/proxies/tiers", params={"site": "exa mple"}).json()["error"]["field"] == "site"
    assert client.delete("/proxies").status_code == 422
    assert client.post("/proxies/import", json={}).json()["error"]["field"] == "text"


def test_the_echo_page_is_public_and_repeats_no_secret(stack: Stack) -> None:
    answer = httpx.get(f"{stack.url}/proxies/echo", params={"nonce": "abc"}, headers={"authorization": "Basic x"})
    echo = read_echo(answer.content, "abc")
    assert echo is not None
    assert (echo.address, "authorization" in echo.headers) == ("127.0.0.1", False)


def test_a_refresh_without_a_configuration_says_what_is_missing(stack: Stack) -> None:
    client = stack.client
    refused = client.post("/proxies/refresh")
    assert refused.status_code == 409, refused.text
    assert "check.judge" in refused.text
    assert client.get("/proxies/refreshes").json() == []
    assert client.get("/proxies/refreshes/0192f0c1-2b3d-7e4f-8a5b-6c7d8e9f0a1b").status_code == 404
