"""The pool from the command line: import, refresh, check, list, export."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.cli.command import Answer, Corral
from tests.proxies.world import BAD, GOOD, PROXY_ADDRESS, ProxyWorld, proxy_world

PASSWORD = "canary p@ss:w/rd#é%41"


@pytest.fixture(scope="module")
def world() -> Iterator[ProxyWorld]:
    with proxy_world({**GOOD, **BAD, "dead": GOOD["good"]}) as running:
        yield running


class Pool:
    """The command line with the configuration of a world."""

    def __init__(self, folder: Path, world: ProxyWorld, more: str = "") -> None:
        self.corral = Corral(folder)
        self.settings = {"APP_PROXY_CONFIG": configure(folder, world, more), "APP_EGRESS_ALLOW": world.allow}

    def __call__(self, *arguments: str) -> Answer:
        return self.corral("proxy", *arguments, **self.settings)


def configure(folder: Path, world: ProxyWorld, more: str = "") -> str:
    (folder / "list.txt").write_text(world.list_text())
    config = folder / "proxies.yaml"
    config.write_text(
        f"sources:\n  - file: {folder / 'list.txt'}\n{more}check:\n  judge: {world.judge}\n  timeout_s: 2\n"
    )
    return str(config)


def test_a_refresh_reads_the_sources_and_keeps_only_good_proxies(tmp_path: Path, world: ProxyWorld) -> None:
    proxy = Pool(tmp_path, world)

    refreshed = proxy("refresh", "--json")

    assert refreshed.code == 0, refreshed.err
    told = refreshed.json
    assert (told["status"], told["total_chunks"], told["completed_chunks"], told["result_count"]) == (
        "COMPLETE", 1, 1, 1,
    )  # fmt: skip
    listed = proxy("list", "--json").json
    by_address = {each["address"]: each for each in listed}
    good = by_address[world.address("good")]
    assert (good["state"], good["anonymity"], good["exit_address"]) == ("alive", "elite", PROXY_ADDRESS)
    problems = {name: by_address[world.address(name)]["problem"] for name in (*BAD, "dead")}
    assert problems == {
        "407": "it asks for another user and password (407)",
        "injects": "the page was changed on its way through it",
        "redirects": "it answered with a redirect",
        "silent": "it did not answer in time",
        "cuts": "the connection to it was refused or cut",
        "dead": "the connection to it was refused or cut",
    }
    live = tmp_path / "data" / "live_proxies.json"  # written by the refresh itself
    exported = json.loads(live.read_text())
    assert [each["proxy"] for each in exported["proxies"]] == [world.address("good")]
    assert live.stat().st_mode & 0o777 == 0o600


def test_a_source_that_fails_makes_the_refresh_partial(tmp_path: Path, world: ProxyWorld) -> None:
    more = "  - file: /nowhere/list.txt\n  - command: [sh, -c, 'echo 127.0.0.1:9; exit 4']\n"
    more += f"  - url: {world.site}/list.txt?api_key=canary\n    tier: residential\n"
    proxy = Pool(tmp_path, world, more)

    refreshed = proxy("refresh")

    assert refreshed.code == 3
    assert "source /nowhere/list.txt: No such file" in refreshed.err
    assert "source sh: the command exited with 4" in refreshed.err
    assert "/list.txt" in refreshed.err
    assert "malformed entries: 1 (line 3)" in refreshed.err
    assert "canary" not in refreshed.err
    by_tier = {each["tier"]: each for each in proxy("list", "--json").json if each["state"] == "alive"}
    assert by_tier["residential"]["address"] == f"http://***@127.0.0.1:{world.proxies['good'].port}"


def test_credentials_are_sealed_and_shown_nowhere(tmp_path: Path, world: ProxyWorld) -> None:
    port = world.proxies["good"].port
    (tmp_path / "mine.json").write_text(
        json.dumps([{"ip": "127.0.0.1", "port": port, "username": "user", "password": PASSWORD}, "broken entry"])
    )
    proxy = Pool(tmp_path, world)

    imported = proxy("import", str(tmp_path / "mine.json"), "--tier", "residential")
    assert (imported.code, imported.out) == (3, "1 imported, 0 updated, 0 unchanged\n")
    assert "entry 2" in imported.err
    again = proxy("import", str(tmp_path / "mine.json"), "--tier", "residential")
    assert again.out == "0 imported, 0 updated, 1 unchanged\n"
    checked = proxy("check", "--json")
    assert checked.json["alive"] == 1
    listed = proxy("list", "--json")
    assert listed.json[0]["address"] == f"http://***@127.0.0.1:{port}"

    kept = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    shown = "".join(each.out + each.err for each in (imported, again, checked, listed))
    assert b"canary" not in kept
    assert "canary" not in shown

    left_out = proxy("export", "-o", str(tmp_path / "out.json"))
    assert left_out.code == 3
    assert "canary" not in (tmp_path / "out.json").read_text()
    for _ in range(3):  # the first key is gone after the second rotation
        assert proxy.corral.here("session", "rotate").code == 0
    proxy("export", "--with-credentials", "-o", str(tmp_path / "out.json"))
    [only] = json.loads((tmp_path / "out.json").read_text())["proxies"]
    assert only["proxy"] == f"http://user:{quote(PASSWORD, safe='')}@127.0.0.1:{port}"
    back = proxy("import", str(tmp_path / "out.json"), "--json").json
    assert (back["imported"], back["malformed_count"]) == (0, 0), "the same proxy"


def test_a_refresh_without_a_judge_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    refused = Corral(tmp_path)("proxy", "refresh")
    assert refused.code == 78
    assert "check.judge" in refused.err
    assert not (tmp_path / "data").exists()
