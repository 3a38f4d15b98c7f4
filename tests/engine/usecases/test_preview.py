"""Looks at pages without a browser, in time, and when our own side fails; the pages themselves are tried over HTTP."""

import asyncio
from typing import Any

import pytest

from corral.domain.errors import BadInput, CannotLook
from corral.domain.jobs.job import Strategy
from corral.domain.jobs.survey import READING_S, Survey
from corral.domain.net.address import EgressPolicy
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.run import Lease
from corral.engine.usecases.preview import Previews


def previews(outcome: Outcome, *offers: Strategy) -> tuple[Previews, list[tuple[Strategy, float]]]:
    """With a worker that always finds this; and what it was asked, by which strategy and for how long."""
    asked_for: list[tuple[Strategy, float]] = []

    async def look(lease: Lease, timeout_s: float) -> Outcome:
        asked_for.append((lease.run.resolved_strategy, timeout_s))
        return outcome

    timeouts = {"http": 7.0, "browser": 11.0}
    store: Any = None
    return Previews(store, look, EgressPolicy(()), frozenset(offers), timeouts), asked_for


@pytest.mark.parametrize(
    "by_browser, strategy, within_s", [(False, Strategy.HTTP, 7.0), (True, Strategy.BROWSER, 11.0)]
)
def test_a_look_has_the_time_of_a_run_and_some_for_reading(
    by_browser: bool, strategy: Strategy, within_s: float
) -> None:
    found = Fetched(records=({}, {"url": "https://shop.example/", "is_shell": False}))
    looking, asked_for = previews(found, Strategy.HTTP, Strategy.BROWSER)
    asyncio.run(looking.look("https://shop.example/", Survey.PAGE, prefer_browser=by_browser))
    assert asked_for == [(strategy, within_s + READING_S)]


def test_without_a_browser_it_is_said_what_to_install() -> None:
    looking, asked_for = previews(Fetched(), Strategy.HTTP)
    with pytest.raises(BadInput) as raised:
        asyncio.run(looking.look("https://shop.example/", Survey.PAGE, prefer_browser=True))
    assert (raised.value.code, raised.value.field) == ("strategy_unavailable", "prefer_browser")
    assert "playwright install chromium" in (raised.value.hint or "")
    assert not asked_for


@pytest.mark.parametrize(
    "failed",
    [
        Failed(FailureCode.UNKNOWN, "x", "bug"),
        Failed(FailureCode.UNKNOWN, "x", "browser_launch"),
        Failed(FailureCode.TIMEOUT, "x", "errand"),
        Failed(FailureCode.WORKER_LOST, "x", "errand"),
    ],
)
def test_what_is_our_own_fault_is_not_blamed_on_the_request(failed: Failed) -> None:
    with pytest.raises(CannotLook):
        asyncio.run(previews(failed, Strategy.HTTP)[0].look("https://shop.example/", Survey.PAGE))


def test_a_look_that_failed_makes_room_for_the_next() -> None:
    looking, _ = previews(Failed(FailureCode.NETWORK, "x", "refused"), Strategy.HTTP)

    async def many() -> None:
        for _ in range(20):
            with pytest.raises(BadInput):  # not TooManyLooks
                await looking.look("https://shop.example/", Survey.PAGE)

    asyncio.run(many())
