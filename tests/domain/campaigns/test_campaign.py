from datetime import UTC, datetime

import pytest

from corral.domain.campaigns.campaign import Campaign, CampaignSite, campaign_progress, campaign_status, find_ready
from corral.domain.cost.spent import Spent
from corral.domain.crawl.crawl import Counts
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import HoldReason, RunState
from tests.domain.runs.builders import A_RUN

NOTHING = Counts()
AT = datetime(2026, 1, 1, tzinfo=UTC)


def a_site(
    name: str, state: RunState, *, waits_for: tuple[str, ...] = (), is_released: bool = True, counts: Counts = NOTHING
) -> CampaignSite:
    payload = Payload({"about": {"site": name, "pages": 10}})
    hold = HoldReason.PAUSED if state is RunState.HELD else None
    run = A_RUN._replace(state=state, payload=payload, hold_reason=hold)
    return CampaignSite(name, f"run-{name}", waits_for, is_released, run, counts, Spent())


def test_a_site_is_ready_when_everything_it_waits_for_has_ended() -> None:
    done, busy = a_site("a", RunState.FAILED), a_site("b", RunState.RUNNING)
    waits = {
        "c": ("a",),
        "d": ("a", "b"),
        "e": ("deleted",),
    }
    held = [a_site(name, RunState.HELD, waits_for=each, is_released=False) for name, each in waits.items()]
    gone = CampaignSite("deleted", "run", (), True, None, Counts(), Spent())
    released = a_site("f", RunState.HELD, waits_for=("a",))
    assert [each.site for each in find_ready([done, busy, gone, *held, released])] == ["c", "e"]


@pytest.mark.parametrize(
    "states, status",
    [
        ((RunState.COMPLETED, RunState.RUNNING), "running"),
        ((RunState.COMPLETED, RunState.HELD), "running"),
        ((RunState.COMPLETED, RunState.COMPLETED), "completed"),
        ((RunState.COMPLETED, RunState.FAILED), "partial"),
        ((RunState.FAILED, RunState.FAILED), "failed"),
        ((RunState.CANCELLED,), "cancelled"),
        ((RunState.COMPLETED, RunState.CANCELLED), "partial"),
    ],
)
def test_a_campaign_has_the_state_of_all_its_sites(states: tuple[RunState, ...], status: str) -> None:
    sites = tuple(a_site(str(number), state) for number, state in enumerate(states))
    assert campaign_status(Campaign("id", AT, None, None, sites)) == status


def test_the_aggregated_view_adds_up_the_sites() -> None:
    sites = (
        a_site("a", RunState.RUNNING, counts=Counts(done=3, failed=1, pending=6)),
        a_site("b", RunState.HELD, waits_for=("a",), is_released=False, counts=Counts(pending=10)),
        a_site("c", RunState.HELD, counts=Counts(done=4, pending=6)),
        CampaignSite("d", "run-d", (), True, None, Counts(), Spent()),
    )
    told = campaign_progress(Campaign("id", AT, None, None, sites))
    assert (told["total"], told["done"], told["failed"], told["pending"]) == (30, 7, 1, 22)
    assert (told["percent"], told["error_rate"]) == (26.7, 0.125)
    assert [each["status"] for each in told["sites"]] == ["running", "waiting", "paused", "deleted"]
    assert told["sites"][1]["waits_for"] == ["a"]
    assert told["by_status"] == {"running": 1, "waiting": 1, "paused": 1, "deleted": 1}
