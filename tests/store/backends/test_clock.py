"""One clock judges leases and due times, and it does not jump with the wall clock."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from corral.domain.runs.run import RunState
from corral.store.open import open_store
from corral.store.store import Store
from tests.store import builders
from tests.store.builders import CREATED, ME, a_job, a_run, add, claim, claim_new

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
START_MS = 1_700_000_000_000


@dataclass
class FakeClock:
    boot: str = "boot-1"
    since_boot: int = 5_000_000
    wall: int = START_MS

    def boot_id(self) -> str:
        return self.boot

    def since_boot_ms(self) -> int:
        return self.since_boot

    def wall_ms(self) -> int:
        return self.wall

    def pass_time(self, seconds: float) -> None:
        self.since_boot += round(seconds * 1000)
        self.wall += round(seconds * 1000)

    def reboot(self) -> None:
        self.boot += "+"
        self.since_boot = 1000
        self.wall += 60_000


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def _open(tmp_path: Path, clock: FakeClock) -> Store:
    return open_store(f"sqlite:///{tmp_path}/corral.db", clock=clock)


@pytest.mark.parametrize("jump_ms", [HOUR_MS, DAY_MS, -HOUR_MS, -DAY_MS])
async def test_a_jump_of_the_wall_clock_neither_ends_nor_prolongs_a_lease(
    tmp_path: Path, clock: FakeClock, jump_ms: int
) -> None:
    store = _open(tmp_path, clock)
    await claim_new(store, lease_s=10)
    clock.pass_time(5)
    clock.wall += jump_ms
    assert await store.runs.reap() == 0
    clock.pass_time(6)
    assert await store.runs.reap() == 1
    await store.close()


@pytest.mark.parametrize("jump_ms", [HOUR_MS, DAY_MS, -HOUR_MS, -DAY_MS])
async def test_a_store_opened_after_a_jump_agrees_with_those_from_before(
    tmp_path: Path, clock: FakeClock, jump_ms: int
) -> None:
    before = _open(tmp_path, clock)
    lease = await claim_new(before, lease_s=10)
    clock.wall += jump_ms
    after = _open(tmp_path, clock)
    assert await after.runs.reap() == 0
    assert after.runs.renew_from_thread([lease.key], ME, 10) == {lease.key}
    clock.pass_time(11)
    assert await after.runs.reap() == 1
    await before.close()
    await after.close()


@pytest.mark.parametrize("jump_ms", [DAY_MS, -DAY_MS])
async def test_a_retry_is_due_when_its_time_has_passed_whatever_the_wall_clock_says(
    tmp_path: Path, clock: FakeClock, jump_ms: int
) -> None:
    store = _open(tmp_path, clock)
    await builders.settle(store, builders.retry(await claim_new(store), due_in_s=30))
    clock.wall += jump_ms
    clock.pass_time(29)
    assert await store.runs.claim(ME, 1, 10) == []
    clock.pass_time(1)
    assert len(await store.runs.claim(ME, 1, 10)) == 1
    await store.close()


async def test_new_runs_can_be_claimed_at_once_after_a_jump(tmp_path: Path, clock: FakeClock) -> None:
    store = _open(tmp_path, clock)
    for jump_ms in (HOUR_MS, -DAY_MS, 2 * DAY_MS):
        clock.wall += jump_ms
        await add(store)
        assert len(await store.runs.claim(ME, 1, 10)) == 1
    await store.close()


async def test_a_reboot_voids_every_lease_at_once(tmp_path: Path, clock: FakeClock) -> None:
    store = _open(tmp_path, clock)
    leases = [await claim_new(store, lease_s=3600) for _ in range(2)]
    await store.close()
    clock.reboot()
    store = _open(tmp_path, clock)
    assert await store.runs.reap() == 2
    run = await store.runs.get(leases[0].run_id)
    assert (run.state, run.attempt, run.interruptions) == (RunState.QUEUED, 1, 1)
    assert len(await store.runs.claim(ME, 10, 10)) == 2
    await store.close()


async def test_a_clock_corrected_by_a_reboot_starves_nobody(tmp_path: Path, clock: FakeClock) -> None:
    store = _open(tmp_path, clock)
    clock.wall += DAY_MS
    await store.close()
    clock.reboot()  # from now on everything is dated a day ahead
    store = _open(tmp_path, clock)
    await builders.settle(store, builders.retry(await claim_new(store), due_in_s=60))
    fresh = await add(store)
    await store.close()

    clock.reboot()
    clock.wall -= DAY_MS
    store = _open(tmp_path, clock)
    assert (await claim(store)).run_id == fresh
    clock.pass_time(3600)
    assert len(await store.runs.claim(ME, 1, 10)) == 1
    await store.close()


async def test_slots_follow_the_wall_clock_and_fire_once(tmp_path: Path, clock: FakeClock) -> None:
    store = _open(tmp_path, clock)
    job = a_job(frequency="hourly")
    slot = START_MS + HOUR_MS
    await store.jobs.add(job, slot)
    assert await store.jobs.due(10) == []
    clock.wall += HOUR_MS
    [due] = await store.jobs.due(10)
    assert await store.jobs.fire(due, slot, slot + HOUR_MS, a_run(job.id), CREATED)
    clock.wall -= DAY_MS
    assert await store.jobs.due(10) == []
    clock.wall += DAY_MS
    assert await store.jobs.due(10) == []
    await store.close()
