import asyncio
import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from corral.domain.errors import WrongState
from corral.domain.runs.run import RunAction, RunState
from corral.runtime.new_ids import new_owner
from corral.store.open import open_store
from corral.store.store import Store
from tests import forked
from tests.chaos.level import by_level
from tests.store import builders
from tests.store.builders import a_run, add_many, check_history

RUNS = 2000


def _race(url: str, processes: int, batch: int) -> list[tuple[str, int]]:
    command = [*forked.command("tests.store.racer"), url, str(batch)]
    root = Path(__file__).parents[4]
    racers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)
        for _ in range(processes)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    claimed: list[tuple[str, int]] = []
    for racer in racers:
        output, _ = racer.communicate(timeout=90)
        assert racer.returncode == 0
        claimed += [(run_id, epoch) for run_id, epoch in json.loads(output)]
    return claimed


@pytest.mark.parametrize("processes, batch", [(2, 50), (by_level(4, 8), 20)])
async def test_every_run_is_claimed_once_by_whoever_comes_first(shared_url: str, processes: int, batch: int) -> None:
    store = open_store(shared_url)
    ids = await add_many(store, [a_run() for _ in range(RUNS)])
    claimed = await asyncio.to_thread(_race, shared_url, processes, batch)
    assert Counter(claimed) == Counter({(run_id, 1): 1 for run_id in ids})
    assert await store.maintenance.audit() == []
    done = await store.runs.newest(None, RunState.COMPLETED, None, RUNS + 1)
    assert len(done) == RUNS
    await store.close()


async def test_claims_from_two_stores_in_one_process_never_meet(two_stores: tuple[Store, Store]) -> None:
    await add_many(two_stores[0], [a_run() for _ in range(300)])

    async def claim_all(store: Store) -> list[tuple[str, int]]:
        owner, claimed = new_owner(), []
        while leases := await store.runs.claim(owner, 7, 60):
            claimed += [lease.key for lease in leases]
            assert len(leases) <= 7
        return claimed

    first, second = await asyncio.gather(*(claim_all(store) for store in two_stores))
    assert len(first) + len(second) == len({*first, *second}) == 300


async def test_of_cancel_settle_and_reap_one_wins(two_stores: tuple[Store, Store]) -> None:
    """The owner finishes late, while a person cancels and a sweeper takes the run back."""
    first, second = two_stores
    for _ in range(60):
        lease = await builders.claim_new(first, lease_s=-1)

        async def cancel(run_id: str = lease.run_id) -> bool:
            try:
                await second.runs.apply_action(run_id, RunAction.CANCEL)
            except WrongState:
                return False
            return True

        settled, cancelled, reaped = await asyncio.gather(
            builders.settle(first, builders.complete(lease, [{"n": 1}])), cancel(), second.runs.reap()
        )
        run = await first.runs.get(lease.run_id)
        await check_history(first, run.id)
        records = await first.records.of_run(run.id, "", 10)
        if settled:
            assert (run.state, cancelled, reaped, len(records)) == (RunState.COMPLETED, False, 0, 1)
        else:
            assert (run.state, cancelled, len(records)) == (RunState.CANCELLED, True, 0)
    assert await first.maintenance.audit() == []


async def test_a_settle_and_its_repetition_at_once_count_once(two_stores: tuple[Store, Store]) -> None:
    for _ in range(40):
        lease = await builders.claim_new(two_stores[0])
        settlement = builders.complete(lease, [{"n": 1}])
        assert await asyncio.gather(*(builders.settle(store, settlement) for store in two_stores)) == [True, True]
        assert len(await two_stores[0].records.of_run(lease.run_id, "", 10)) == 1
        await check_history(two_stores[0], lease.run_id)
