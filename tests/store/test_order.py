"""The order of the queue with several nodes: what one node has set aside, no other node overtakes."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from typing import Any, NamedTuple, TypeVar

import psycopg
import pytest

from corral.domain.hosts.limiter import HostRules
from corral.domain.ids import Owner
from corral.domain.runs.run import NewRun
from corral.engine.hosts.limiter_sync import LimiterSync
from corral.store.open import open_store
from corral.store.queries.runs.waiting import WAITED_FOR
from corral.store.store import Store
from tests.chaos.claim_order import read_claim_order
from tests.store.builders import ME, OTHER, a_run, add_many

SITE = "site.test"
T = TypeVar("T")


class ClaimingNode(NamedTuple):
    """A node as far as it claims: its connection to the database and its host limiter."""

    owner: Owner
    store: Store
    keeper: LimiterSync

    async def claim(self, limit: int, held: int = 0) -> list[str]:
        """The runs it gets while it executes `held` runs of the site."""
        hosts = self.keeper.room(Counter({SITE: held}))
        return [lease.run_id for lease in await self.store.runs.claim(self.owner, limit, 10, hosts=hosts)]


@pytest.fixture
async def nodes(shared_url: str) -> AsyncIterator[list[ClaimingNode]]:
    made = [ClaimingNode(owner, store := open_store(shared_url), _keeper(store, owner)) for owner in (ME, OTHER)]
    yield made
    for node in made:
        await node.store.close()


def _keeper(store: Store, owner: Owner) -> LimiterSync:
    async def until_stored(write: Callable[[], Awaitable[T]]) -> T:
        return await write()

    def write(work: Coroutine[Any, Any, Any]) -> None:
        work.close()  # claims ask for nothing to be written

    return LimiterSync(store.hosts, owner, HostRules(), until_stored, write)


def a_page(host: str = SITE) -> NewRun:
    return a_run(kind="page", payload={"url": f"http://{host}/"})


async def test_runs_that_another_node_set_aside_come_before_younger_ones(nodes: list[ClaimingNode]) -> None:
    full, free = nodes
    older = await add_many(full.store, [a_page() for _ in range(4)])
    assert await full.claim(10, held=1000) == [], "they wait: this node uses every slot of their host"
    younger = await add_many(full.store, [a_page() for _ in range(4)])
    assert await free.claim(3) == older[:3]
    assert await free.claim(3, held=3) == [older[3], *younger[:2]]


async def test_the_judge_sees_a_run_that_was_passed_over(nodes: list[ClaimingNode], shared_url: str) -> None:
    node, _ = nodes
    older = await add_many(node.store, [a_page()])
    await asyncio.sleep(0.02)
    younger = await add_many(node.store, [a_page()])
    assert await node.store.runs.claim_one(younger[0], node.owner, 10)
    await asyncio.sleep(0.1)
    assert await node.claim(1) == older
    found = read_claim_order(shared_url, patience_s=0.01, race_s=0.01)
    assert (len(found.violations), len(found.overtaken)) == (1, 1)
    patient = read_claim_order(shared_url, patience_s=30)
    assert (patient.claims, patient.violations, patient.overtaken) == (2, [], [])


async def test_the_hosts_that_runs_wait_for_are_read_without_reading_every_run(postgres_url: str) -> None:
    """Also where the statistics of PostgreSQL are from a time when no run waited."""
    store = open_store(postgres_url)
    await add_many(store, [a_page(f"site-{number % 10}.test") for number in range(500)])
    await store.close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("ANALYZE runs")
        connection.execute("UPDATE runs SET waiting_host = host_key")
        explain = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {WAITED_FOR}"
        [(plan,)] = connection.execute(explain.encode()).fetchall()
    assert sum(_rows_read(plan[0]["Plan"])) <= 11


def _rows_read(plan: dict[str, Any]) -> Iterator[int]:
    if plan.get("Relation Name") == "runs":
        yield plan["Actual Rows"] * plan["Actual Loops"]
    for child in plan.get("Plans", ()):
        yield from _rows_read(child)
