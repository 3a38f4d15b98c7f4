import asyncio

from corral.domain.jobs.job import Strategy
from corral.domain.sites.site import Memory, Observation
from corral.store.store import Store


def an_observation(
    host: str = "example.org", strategy: Strategy = Strategy.HTTP, *, succeeded: bool = True
) -> Observation:
    return Observation(host, "k", strategy, succeeded, requested=2, found=2 if succeeded else 0, cost_ms=100)


async def test_what_is_learnt_is_what_the_domain_would_remember(store: Store) -> None:
    observations = [an_observation(succeeded=number % 3 > 0) for number in range(10)]
    await store.sites.learn(observations[:4])
    await store.sites.learn(observations[4:])
    expected = Memory("example.org", "k", Strategy.HTTP)
    for each in observations:
        expected = expected.after(each)
    [memory] = await store.sites.memories("example.org")
    assert memory.attempts == expected.attempts == 10
    assert abs(memory.success_rate - expected.success_rate) < 1e-9
    assert abs(memory.mean_cost_ms - 100) < 1e-6


async def test_hosts_and_strategies_are_kept_apart(store: Store) -> None:
    await store.sites.learn(
        [an_observation("a.org"), an_observation("b.org"), an_observation("a.org", Strategy.BROWSER)]
    )
    assert [memory.strategy for memory in await store.sites.memories("a.org")] == [Strategy.BROWSER, Strategy.HTTP]
    assert len(await store.sites.memories("b.org")) == 1
    assert await store.sites.memories("c.org") == []


async def test_two_who_learn_at_once_lose_nothing(store: Store) -> None:
    await store.sites.learn([an_observation()])
    await asyncio.gather(
        *(store.sites.learn([an_observation("a.org"), an_observation("example.org")]) for _ in range(20))
    )
    [memory] = await store.sites.memories("example.org")
    assert memory.attempts == 21
