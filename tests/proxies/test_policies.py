"""Policies of sites and of the installation, and refreshes that a node starts by itself."""

import functools
from pathlib import Path

from corral.domain.proxies.refresh import RefreshProgress
from corral.engine.refresh.keeper import PoolKeeper
from corral.engine.refresh.usecases import ProxyPools
from corral.settings import Settings
from corral.store.open import open_store
from corral.store.store import Store
from corral.transport.refresh_mirror import RefreshMirror
from corral.wiring.proxies.config import load_proxy_config, usual_policy
from tests.cli.command import Corral
from tests.proxies.world import GOOD, PROXY_ADDRESS, proxy_world
from tests.services import RedisServer
from tests.services.ports import free_port
from tests.services.sqlite import migrate


def settings_in(folder: Path, text: str, **more: str) -> Settings:
    (folder / "proxies.yaml").write_text(text)
    return Settings(data_dir=folder / "var", proxy_config=folder / "proxies.yaml", **more)  # type: ignore[arg-type]


def test_a_site_has_its_policy_and_the_rest_that_of_the_installation(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, "sites: {example.com: 'tiered', other.test: direct}", proxy_policy="pool")
    find = usual_policy(settings)
    found = [find(f"https://{host}/page") for host in ("www.example.com", "shop.example.com", "other.test", "x.test")]
    assert [each and each.address for each in found] == ["tiered", "tiered", None, "pool"]
    assert usual_policy(settings_in(tmp_path, ""))("https://x.test/") is None


def test_a_job_without_a_policy_follows_its_site_and_is_not_probed_from_our_address(tmp_path: Path) -> None:
    with proxy_world(GOOD) as world:
        corral = Corral(tmp_path)
        (tmp_path / "list.txt").write_text(world.list_text())
        (tmp_path / "proxies.yaml").write_text(f"check: {{judge: '{world.judge}'}}\nsites: {{127.0.0.1: pool}}\n")
        settings = {"APP_PROXY_CONFIG": str(tmp_path / "proxies.yaml"), "APP_EGRESS_ALLOW": world.allow}
        corral.here("proxy", "import", str(tmp_path / "list.txt"), **settings)
        corral("proxy", "check", **settings)
        done = corral("scrape", f"{world.site}/page/1", "--fields", "title", "--json", **settings)
        assert done.code == 0, done.err
        assert set(world.callers) == {PROXY_ADDRESS}
        direct = corral("scrape", f"{world.site}/page/2", "--fields", "title", "--proxy", "direct", **settings)
        assert direct.code == 0
        assert world.callers["127.0.0.1"] > 0


async def start_by_threshold(store: Store, settings: Settings) -> int:
    read = functools.partial(load_proxy_config, settings)
    pools = ProxyPools(store, lambda *_: "", read, lambda *_: None)
    minimum = settings.min_proxies_for_scraping
    keeper = PoolKeeper(store, pools, read, wake=lambda *_: None, min_usable=minimum)
    await keeper.step()
    await keeper.step()
    return len(await store.proxies.newest_refreshes(10))


async def test_too_few_usable_proxies_start_one_refresh(tmp_path: Path) -> None:
    text = "sources: [{file: list.txt}]\ncheck: {judge: 'http://judge.test/'}\n"
    for minimum, started in ((1, 1), (0, 0)):
        store = open_store(f"sqlite:///{migrate(tmp_path / f'minimum-{minimum}.db')}")
        settings = settings_in(tmp_path, text).model_copy(update={"min_proxies_for_scraping": minimum})
        assert await start_by_threshold(store, settings) == started
        await store.close()
    store = open_store(f"sqlite:///{migrate(tmp_path / 'scheduled.db')}")
    scheduled = settings_in(tmp_path, f"{text}refresh_minutes: 5\n").model_copy(update={"min_proxies_for_scraping": 0})
    assert await start_by_threshold(store, scheduled) == 1, "by schedule"
    await store.close()


async def test_progress_that_redis_did_not_take_is_written_with_the_next_step(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    settings = settings_in(tmp_path, "sources: [{file: list.txt}]\ncheck: {judge: 'http://judge.test/'}\n")
    read = functools.partial(load_proxy_config, settings)
    store = open_store(f"sqlite:///{migrate(tmp_path / 'mirrored.db')}")
    pools = ProxyPools(store, lambda *_: "", read, lambda *_: None)
    mirrors = [RefreshMirror(url) for url in (f"redis://127.0.0.1:{free_port()}/0", redis_server.url(11))]
    tries: list[bool] = []

    async def write(progress: RefreshProgress) -> bool:
        tries.append(mirrors[min(len(tries), 1)].put(progress))
        return tries[-1]

    keeper = PoolKeeper(store, pools, read, wake=lambda *_: None, min_usable=1, mirror=write)
    for _ in range(4):  # the first one starts the refresh
        await keeper.step()
    await store.close()
    for mirror in mirrors:
        mirror.close()
    assert tries == [False, True]
