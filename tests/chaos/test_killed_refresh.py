"""A refresh that is killed is finished by the next one: no proxy is imported twice, and none stays unchecked."""

import signal
from pathlib import Path

import pytest

from tests.cli.command import Corral
from tests.proxies.world import proxy_world, relay, stay_silent
from tests.waiting import block_until


@pytest.mark.long
def test_a_refresh_goes_on_after_kill_9(tmp_path: Path) -> None:
    corral = Corral(tmp_path)
    with proxy_world({"good": relay, "silent": stay_silent, "other": relay}) as world:
        (tmp_path / "list.txt").write_text(world.list_text())
        (tmp_path / "proxies.yaml").write_text(
            f"sources: [{{file: '{tmp_path / 'list.txt'}'}}]\ncheck: {{judge: '{world.judge}', timeout_s: 6}}\n"
        )
        settings = {"APP_PROXY_CONFIG": str(tmp_path / "proxies.yaml"), "APP_EGRESS_ALLOW": world.allow}
        process = corral.start_fork("proxy", "refresh", "--json", **settings)
        try:
            block_until(lambda: world.proxies["silent"].uses, 60)
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        done = corral("proxy", "refresh", "--json", **settings)
        assert (done.code, done.json["status"], done.json["result_count"]) == (0, "COMPLETE", 2), done.err
        states = [each["state"] for each in corral.here("proxy", "list", "--json", **settings).json]
        assert sorted(states) == ["alive", "alive", "dead"]
        assert (corral.data / "live_proxies.json").exists()
