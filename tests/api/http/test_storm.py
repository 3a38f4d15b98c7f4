"""Thousands of slow clients at once: `/health` goes on answering, and memory stays bounded."""

import asyncio

import pytest

from tests.api.http.storm import Report, Size, Storm, raise_file_limit
from tests.chaos.level import LEVEL
from tests.chaos.report import LINES
from tests.slack import SLACK
from tests.stack import Stack


def _run(stack: Stack, size: Size) -> Report:
    raise_file_limit()
    return asyncio.run(Storm(stack.url, stack.process.pid, size).run())


def test_slow_clients_keep_nobody_waiting(stack: Stack) -> None:
    found = _run(stack, Size(idle=200, half_heads=200, half_bodies=40, hostile_bodies=33, seconds=3))
    assert not found.health["failures"]
    assert found.health["asked"] > 5
    assert found.health["p50"] < 200 * SLACK
    assert set(found.answers) <= {"200", "422"}
    assert found.memory_grown_mib < 64


@pytest.mark.chaos_long
@pytest.mark.skipif(not LEVEL, reason="with CORRAL_CHAOS=long")
def test_a_storm_of_slow_clients_keeps_nobody_waiting(stack: Stack) -> None:
    found = _run(stack, Size())
    LINES.append(
        f"storm: /health p50 {found.health['p50']} ms, p99 {found.health['p99']} ms, max {found.health['max']} ms"
    )
    LINES.append(f"storm: memory +{found.memory_grown_mib} MiB, answers {found.answers}")
    assert not found.health["failures"]
    assert found.health["max"] < 200 * SLACK
    assert found.health["statuses"]["degraded"]
    assert found.memory_grown_mib < 64
