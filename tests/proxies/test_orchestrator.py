"""The proxy methods of `Orchestrator`, with and without Celery and Redis."""

import threading
from pathlib import Path
from typing import Any

import pytest
import redis

from corral.domain.errors import BadConfiguration, RunNotFound
from corral.domain.net.address import AllowEntry
from corral.settings import Settings
from corral.supervisor import Orchestrator
from tests.proxies.world import BAD, ProxyWorld, proxy_world, relay
from tests.services import RedisServer
from tests.services.ports import free_port
from tests.waiting import block_until


def settings_in(folder: Path, world: ProxyWorld, **more: Any) -> Settings:
    (folder / "list.txt").write_text(world.list_text())
    (folder / "proxies.yaml").write_text(
        f"sources: [{{file: '{folder / 'list.txt'}'}}]\ncheck: {{judge: '{world.judge}', timeout_s: 2}}\n"
    )
    return Settings(
        **{
            "data_dir": folder / "var",
            "proxy_config": folder / "proxies.yaml",
            "egress_allow": (AllowEntry.parse(world.allow),),
            "celery_broker_url": f"redis://127.0.0.1:{free_port()}/1",
            "workers": 1,
            **more,
        }
    )


def test_without_a_node_the_wait_executes_the_refresh_itself(tmp_path: Path) -> None:
    with proxy_world({"a": relay, "b": relay, "c": BAD["407"]}) as world:
        orch = Orchestrator(settings_in(tmp_path, world))
        assert (orch.get_proxy_count(), orch.get_usable_proxy_count()) == (0, 0)
        assert orch.wait_for_proxies(min_count=2, timeout=60)
        assert (orch.get_proxy_count(), orch.get_usable_proxy_count()) == (3, 2)
        asked = len(world.requests)
        assert orch.wait_for_proxies(min_count=2), "there are enough: nothing is checked"
        assert len(world.requests) == asked
        assert not orch.wait_for_proxies(min_count=3, timeout=60)

        job_id = orch.trigger_proxy_refresh()
        assert orch.trigger_proxy_refresh() == job_id, "one at a time"
        assert orch.get_refresh_progress(job_id)["status"] == "DISPATCHED"
        with pytest.raises(RunNotFound):
            orch.get_refresh_progress("01a1e125-d795-7a16-b637-e8e9989dd5d7")


def test_a_wait_without_sources_and_judge_says_what_is_missing(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "var", proxy_config=tmp_path / "none.yaml")
    with pytest.raises(BadConfiguration, match=r"check\.judge"):
        Orchestrator(settings).wait_for_proxies()


def test_with_celery_the_worker_refreshes_and_the_progress_is_in_redis(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    with proxy_world({"a": relay, "b": relay}) as world:
        url = redis_server.url(10)
        settings = settings_in(tmp_path, world, celery_broker_url=url, redis_url=url)
        with Orchestrator(settings) as orch:
            orch.start_redis()
            orch.start_celery()
            found: list[bool] = []
            waiting = threading.Thread(target=lambda: found.append(orch.wait_for_proxies(2, 120)))
            waiting.start()
            waiting.join(180)
            assert found == [True]
            with redis.Redis.from_url(url, decode_responses=True) as client:
                [key] = block_until(lambda: client.keys("proxy_refresh:*:status"), 20)
                job_id = str(key).split(":")[1]
                block_until(lambda: client.get(key) == "COMPLETE", 20)
                names = ("total_chunks", "completed_chunks", "result_count")
                assert [client.get(f"proxy_refresh:{job_id}:{name}") for name in names] == ["1", "1", "2"]
                assert client.get(f"proxy_refresh:{job_id}:completed_at") is not None
            progress = orch.get_refresh_progress(job_id)
            assert (progress["status"], progress["total_chunks"], progress["result_count"]) == ("COMPLETE", 1, 2)
