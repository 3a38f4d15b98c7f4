"""Checks of real proxies: tinyproxy and squid with and without a password, and a SOCKS5 server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from corral.domain.net.address import AllowEntry, EgressPolicy
from corral.domain.net.pool_policy import Tier
from corral.domain.ports.proxies import LeasedProxy
from corral.domain.proxies.checking import ProxyCheck
from corral.domain.proxies.config import CheckPlan
from corral.domain.proxies.pooled import Anonymity
from corral.domain.runs.outcome import Failed
from corral.domain.secret import Secret
from corral.fetch.egress.client import Egress
from corral.fetch.limits import FetchLimits
from corral.fetch.proxy.check import ProxyChecker
from corral.fetch.sessions import SessionKeys
from corral.secrets.vault import Keyring
from tests.fetch.upstream import upstream_proxy
from tests.proxies.world import GOOD, proxy_world
from tests.services.ports import free_port
from tests.services.squid import SQUID_ADDRESS, squid
from tests.services.tinyproxy import tinyproxy
from tests.waiting import until

RING = Keyring().with_new()


@asynccontextmanager
async def a_checker(allow: str = "127.0.0.0/8:*") -> AsyncIterator[ProxyChecker]:
    egress = Egress(EgressPolicy((AllowEntry.parse(allow),)), FetchLimits(), "corral-test")
    yield ProxyChecker(egress, SessionKeys(RING.texts()))
    await egress.close()


def lease(number: int, address: str, login: str | None = None) -> LeasedProxy:
    sealed = None if login is None else RING.seal_text(Secret(login), f"proxy|{address}")
    return LeasedProxy(number, Tier.DATACENTRE, address, sealed)


async def test_tinyproxy_and_a_socks_server_pass_and_wrong_passwords_do_not() -> None:
    with proxy_world(GOOD) as world, tinyproxy() as plain, tinyproxy("user", "secret-word") as closed:
        async with a_checker() as checker, upstream_proxy("me", "hidden-word") as socks:
            proxies = [
                lease(1, f"http://127.0.0.1:{plain.port}"),
                lease(2, f"http://127.0.0.1:{closed.port}", "user:secret-word"),
                lease(3, f"http://127.0.0.1:{closed.port}"),
                lease(4, f"socks5://127.0.0.1:{socks.port}", "me:hidden-word"),
                lease(5, f"socks5://127.0.0.1:{socks.port}", "me:wrong"),
            ]
            found = await checker.check(proxies, CheckPlan(world.judge, f"{world.site}/page/1"), lambda _: None)
    assert isinstance(found, list)
    by_id = {each.id: each for each in found}
    assert [by_id[number].is_alive for number in (1, 2, 3, 4, 5)] == [True, True, False, True, False]
    assert by_id[4].reaches_target
    # They connect from our own address, and the judge sees that.
    assert by_id[1].anonymity is Anonymity.TRANSPARENT


async def test_squid_passes_with_its_password_and_a_port_that_it_refuses_is_named() -> None:
    with proxy_world(GOOD) as world, squid("user", "secret:word") as proxy:
        async with a_checker() as checker:
            proxies = [
                lease(1, f"http://127.0.0.1:{proxy.port}"),
                lease(2, f"http://127.0.0.1:{proxy.closed}", "user:secret:word"),
                lease(3, f"http://127.0.0.1:{proxy.closed}", "user:wrong"),
                lease(4, f"http://127.0.0.1:{proxy.strict}"),
            ]
            found = await checker.check(proxies, CheckPlan(world.judge, f"{world.site}/page/1"), lambda _: None)
        await until(lambda: len(proxy.list_tunnels()) >= 4)  # squid writes its log a moment later
        tunnels = proxy.list_tunnels()
    assert isinstance(found, list)
    assert {each.id: each.problem for each in found} == {
        1: None,
        2: None,
        3: "it asks for another user and password (407)",
        4: f"it refuses tunnels to port {world.site_port} (403)",
    }
    good = next(each for each in found if each.id == 1)
    assert (good.anonymity, good.exit_address, good.reaches_target) == (Anonymity.ELITE, SQUID_ADDRESS, True)
    assert tunnels == [f"127.0.0.1:{world.site_port}"] * 4, "judge and target, through two ports"
    assert set(world.callers) == {SQUID_ADDRESS}


async def test_a_judge_that_is_down_fails_the_check_instead_of_every_proxy() -> None:
    with proxy_world(GOOD) as world:
        async with a_checker() as checker:
            plan = CheckPlan(f"http://127.0.0.1:{free_port()}/", timeout_s=2)
            found = await checker.check([lease(1, world.address("good"))], plan, lambda _: None)
    assert isinstance(found, Failed)
    assert (found.code, found.detail) == ("network", "judge")


async def test_a_proxy_on_a_forbidden_address_is_never_dialled() -> None:
    with proxy_world(GOOD) as world:
        async with a_checker("10.0.0.0/8:*") as checker:
            found = await checker.check([lease(1, world.address("good"))], CheckPlan(world.judge), lambda _: None)
        assert isinstance(found, list)
        assert (found[0].is_alive, world.proxies["good"].uses) == (False, 0)


async def test_checks_run_at_once_up_to_the_concurrency_over_all_chunks() -> None:
    with proxy_world(GOOD) as world:
        async with a_checker() as checker:
            proxies = [lease(number, world.address("good")) for number in range(40)]
            plan = CheckPlan(world.judge, concurrency=7)
            chunks = [proxies[at : at + 10] for at in range(0, 40, 10)]
            found = await asyncio.gather(*(checker.check(chunk, plan, lambda _: None) for chunk in chunks))
    checks: list[ProxyCheck] = [each for chunk in found if isinstance(chunk, list) for each in chunk]
    assert sum(each.is_alive for each in checks) == 40
    assert world.proxies["good"].most_at_once <= 7
