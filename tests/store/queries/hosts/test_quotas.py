"""Whose turns those of a host are: on every database."""

import asyncio

from corral.domain.hosts.quota import QuotaGrant, QuotaRequest
from corral.domain.runs.node import NodeInfo, NodeRole
from corral.runtime.new_ids import new_owner
from corral.store.open import open_store
from corral.store.store import Store
from tests.store.conftest import Sql

ONE, TWO = new_owner(), new_owner()


async def test_a_node_has_what_it_wants_and_another_one_what_is_left(store: Store) -> None:
    assert await store.hosts.take_quotas(ONE, [QuotaRequest("a", 8, 0, 8), QuotaRequest("b", 3, 0, 1)]) == [
        QuotaGrant("a", 8),
        QuotaGrant("b", 3),
    ]
    assert await store.hosts.find_contested(ONE) == {}
    assert await store.hosts.take_quotas(TWO, [QuotaRequest("a", 8, 0, 20)]) == [QuotaGrant("a", 0, is_contested=True)]
    assert await store.hosts.find_contested(ONE) == {"a": True}  # the other one has none
    assert await store.hosts.find_contested(TWO) == {"a": False}


async def test_what_is_in_use_counts_until_it_has_ended(store: Store) -> None:
    await store.hosts.take_quotas(ONE, [QuotaRequest("a", 8, 0, 20)])
    await store.hosts.take_quotas(TWO, [QuotaRequest("a", 8, 0, 20)])
    assert await store.hosts.take_quotas(ONE, [QuotaRequest("a", 8, 7, 20)]) == [QuotaGrant("a", 4, is_contested=True)]
    assert await store.hosts.take_quotas(TWO, [QuotaRequest("a", 8, 0, 20)]) == [QuotaGrant("a", 1, is_contested=True)]
    await store.hosts.take_quotas(ONE, [QuotaRequest("a", 8, 2, 20)])
    assert await store.hosts.take_quotas(TWO, [QuotaRequest("a", 8, 1, 20)]) == [QuotaGrant("a", 4, is_contested=True)]


async def test_what_a_node_drops_is_the_others(store: Store) -> None:
    await store.hosts.take_quotas(ONE, [QuotaRequest("a", 8, 0, 20), QuotaRequest("b", 8, 0, 20)])
    await store.hosts.drop_quotas(ONE, ["a"])
    asks = [QuotaRequest("a", 8, 0, 8), QuotaRequest("b", 8, 0, 8)]
    assert await store.hosts.take_quotas(TWO, asks) == [QuotaGrant("a", 8), QuotaGrant("b", 0, is_contested=True)]


async def test_a_node_that_is_struck_has_none(store: Store) -> None:
    info = NodeInfo(ONE, "here", 7, NodeRole.WORKER, "embedded", (), 100, "1.2")
    await store.nodes.heartbeat(info, 1, is_stopping=False)
    await store.hosts.take_quotas(ONE, [QuotaRequest("a", 8, 0, 8)])
    await store.nodes.remove(ONE)
    assert await store.hosts.take_quotas(TWO, [QuotaRequest("a", 8, 0, 8)]) == [QuotaGrant("a", 8)]


async def test_a_node_that_is_not_heard_of_has_none_and_one_that_renews_has(store: Store, sql: Sql) -> None:
    await store.hosts.take_quotas(ONE, [QuotaRequest("a", 8, 0, 8)])
    sql("UPDATE host_quotas SET until = until - 9000")
    assert await store.hosts.take_quotas(TWO, [QuotaRequest("a", 8, 0, 8)]) == [QuotaGrant("a", 0, is_contested=True)]
    await store.hosts.renew_quotas(ONE)
    sql(f"UPDATE host_quotas SET until = until - 9000 WHERE owner = '{ONE}'")
    assert await store.hosts.take_quotas(TWO, [QuotaRequest("a", 8, 0, 8)]) == [QuotaGrant("a", 0, is_contested=True)]
    sql(f"UPDATE host_quotas SET until = until - 1001 WHERE owner = '{ONE}'")
    assert await store.hosts.take_quotas(TWO, [QuotaRequest("a", 8, 0, 8)]) == [QuotaGrant("a", 8)]


async def test_a_node_that_is_gone_contests_nothing(store: Store, sql: Sql) -> None:
    await store.hosts.take_quotas(ONE, [QuotaRequest("a", 8, 0, 8)])
    await store.hosts.take_quotas(TWO, [QuotaRequest("a", 8, 0, 8)])
    assert await store.hosts.find_contested(ONE) == {"a": True}
    sql(f"UPDATE host_quotas SET until = until - 11000 WHERE owner = '{TWO}'")
    assert await store.hosts.find_contested(ONE) == {}


async def test_rows_of_nodes_that_are_long_gone_are_cleared_away(store: Store, sql: Sql) -> None:
    await store.hosts.take_quotas(ONE, [QuotaRequest("a", 8, 0, 8)])
    sql("UPDATE host_quotas SET until = until - 71000")
    await store.hosts.renew_quotas(TWO)
    assert sql("SELECT count(*) FROM host_quotas") == [(0,)]


async def test_nodes_that_ask_at_the_same_time_do_not_get_too_much(shared_url: str) -> None:
    stores = [open_store(shared_url) for _ in range(4)]
    owners = [new_owner() for _ in stores]
    asks = [QuotaRequest(f"host-{number}", 5, 0, 20) for number in range(20)]
    given = await asyncio.gather(
        *(store.hosts.take_quotas(owner, asks) for store, owner in zip(stores, owners, strict=True))
    )
    for host_key in range(len(asks)):
        assert sum(each[host_key].slots for each in given) <= 5
    for store in stores:
        await store.close()
