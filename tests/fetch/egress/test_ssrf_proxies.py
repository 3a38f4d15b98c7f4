"""A proxy of the user's is no way around: not to a forbidden target, and it is itself a target like any other."""

import pytest

from corral.domain.errors import BadInput
from corral.domain.runs.outcome import Failed
from corral.fetch.egress.client import Egress
from corral.fetch.http import HttpExecutor
from corral.fetch.proxy.route import Proxies
from corral.fetch.robots import Robots
from tests.chaos.level import LEVEL
from tests.fetch.egress.ssrf_helpers import canary, each, patient
from tests.fetch.hostile import Hostile
from tests.fetch.proxy.proxies_helpers import a_task, address, executors
from tests.fetch.ssrf_corpus import corpus
from tests.fetch.upstream import upstream_proxy


async def test_no_proxy_is_asked_for_a_forbidden_address() -> None:
    async with canary() as heard, upstream_proxy() as upstream, executors(upstream.port) as ways:

        async def check(url: str) -> None:
            outcome = await ways["http"].execute(a_task(url, address(upstream)))
            assert isinstance(outcome, Failed), url
            assert outcome.code == "policy", (url, outcome)

        await each(corpus(heard.port), check)
        assert upstream.asked == []
    assert heard.connections == 0


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_no_proxy_is_itself_a_forbidden_address(hostile: Hostile, scheme: str) -> None:
    egress: Egress = patient(hostile)
    proxies = Proxies(egress)
    executor = HttpExecutor(egress, Robots(egress, "t"), proxies=proxies)
    async with canary() as heard:

        async def check(url: str) -> None:
            try:
                task = a_task(hostile.url("/page"), url.replace("http://", f"{scheme}://", 1).rstrip("/"))
            except BadInput:
                return  # refused where it is written down
            outcome = await executor.execute(task)
            assert isinstance(outcome, Failed), url
            assert outcome.code in ("policy", "network"), (url, outcome)

        # When there is little time, each scheme gets one half.
        share = corpus(heard.port) if LEVEL else corpus(heard.port)[scheme == "http" :: 2]
        await each(share, check)
    await proxies.close()
    await egress.close()
    assert heard.connections == hostile.connections == 0
