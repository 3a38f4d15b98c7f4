"""Errands: a process that is kept for the next one, and never a broken one."""

import base64
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pytest

from corral.domain.jobs.job import Strategy
from corral.domain.runs.outcome import Failed, FailureCode, Fetched
from corral.domain.runs.payload.selftest import SelftestPayload
from corral.domain.runs.run import Lease
from corral.engine.oneshot import OneShotWorkers, draft_lease
from corral.wiring.options import worker_config
from tests.engine.builders import settings_for
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("forked_workers")


def a_selftest(do: str, **payload: Any) -> Lease:
    return draft_lease("selftest", SelftestPayload(do, **payload), Strategy.HTTP, None)


def workers() -> set[int]:
    return {each.pid for each in psutil.Process().children() if each.status() != psutil.STATUS_ZOMBIE}


async def test_a_process_is_kept_for_the_next_unless_it_broke_or_knows_too_little(tmp_path: Path) -> None:
    config = asdict(worker_config(settings_for(tmp_path)))
    errands = OneShotWorkers(lambda: config)
    before = workers()
    assert isinstance(await errands.perform(a_selftest("nothing"), 10), Fetched)
    [first] = workers() - before
    assert isinstance(await errands.perform(a_selftest("nothing"), 10), Fetched)
    assert workers() - before == {first}

    lost = await errands.perform(a_selftest("die"), 10)
    assert isinstance(lost, Failed)
    assert lost.code is FailureCode.WORKER_LOST
    assert isinstance(await errands.perform(a_selftest("nothing"), 10), Fetched)
    await until(lambda: len(workers() - before) == 1)
    [second] = workers() - before
    assert second != first

    config = {**config, "vault_keys": [base64.b64encode(bytes(32)).decode()]}
    await errands.perform(a_selftest("nothing"), 10)
    await until(lambda: second not in workers())
    await errands.close()
    assert workers() - before == set()


async def test_one_that_does_not_answer_is_ended(tmp_path: Path) -> None:
    errands = OneShotWorkers(lambda: asdict(worker_config(settings_for(tmp_path))))
    before = workers()
    late = await errands.perform(a_selftest("stall", seconds=60), 0.2)
    assert isinstance(late, Failed)
    assert late.code is FailureCode.TIMEOUT
    await errands.close()
    assert workers() - before == set()
