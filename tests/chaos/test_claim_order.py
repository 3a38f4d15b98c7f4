"""The judge of the order of claims, on histories that are written by hand."""

from corral.domain.runs.event import EventKind
from tests.chaos.claim_order import QueueEvent, judge_claim_order

CREATED, STARTED, INTERRUPTED = EventKind.CREATED, EventKind.STARTED, EventKind.INTERRUPTED


def test_a_claim_passes_over_a_run_that_has_waited_for_longer_than_a_second() -> None:
    found = judge_claim_order(
        [
            QueueEvent(0.0, "old", CREATED),
            QueueEvent(0.5, "young", CREATED),
            QueueEvent(1.2, "young", STARTED),
            QueueEvent(3.0, "old", STARTED),
        ]
    )
    assert len(found.violations) == 1
    assert len(found.overtaken) == 1


def test_a_run_that_is_never_claimed_is_passed_over_too() -> None:
    events = [QueueEvent(0.0, "old", CREATED), QueueEvent(0.5, "young", CREATED), QueueEvent(1.2, "young", STARTED)]
    assert len(judge_claim_order(events).violations) == 1


def test_runs_in_the_order_of_the_queue_break_nothing_however_long_they_wait() -> None:
    events = [QueueEvent(0.0, "a", CREATED), QueueEvent(0.1, "b", CREATED)]
    found = judge_claim_order([*events, QueueEvent(60.0, "a", STARTED), QueueEvent(70.0, "b", STARTED)])
    assert (found.claims, found.violations, found.overtaken) == (2, [], [])


def test_claims_of_two_nodes_in_the_same_moment_are_a_race() -> None:
    """The row of the older run was locked by the claim of another node, which commits a moment later."""
    events = [QueueEvent(0.0, "old", CREATED), QueueEvent(0.5, "young", CREATED), QueueEvent(5.0, "young", STARTED)]
    assert judge_claim_order([*events, QueueEvent(5.2, "old", STARTED)]).violations == []
    assert len(judge_claim_order([*events, QueueEvent(5.3, "old", STARTED)]).violations) == 1


def test_claims_race_while_their_transactions_overlap_however_long_they_take() -> None:
    created = [QueueEvent(0.0, "old", CREATED), QueueEvent(0.5, "young", CREATED)]
    slow, other = QueueEvent(5.0, "young", STARTED), QueueEvent(7.0, "old", STARTED)
    assert judge_claim_order([*created, other, slow]).violations == [], "that of the older run was written first"
    assert len(judge_claim_order([*created, slow, other]).violations) == 1
    between = [QueueEvent(6.9, "third", CREATED), slow, other]
    assert judge_claim_order([*created, *between]).violations == [], "it was not written before 6.9"


def test_a_run_that_was_lost_a_moment_ago_may_be_missed_by_one_claim() -> None:
    """It had not waited for a second. Nothing else was claimed until its turn: late, but not passed over."""
    found = judge_claim_order(
        [
            QueueEvent(0.0, "old", CREATED),
            QueueEvent(0.1, "old", STARTED),
            QueueEvent(0.2, "young", CREATED),
            QueueEvent(5.0, "old", INTERRUPTED),
            QueueEvent(5.048, "young", STARTED),
            QueueEvent(6.6, "old", STARTED),
        ]
    )
    assert found.violations == []
    assert len(found.overtaken) == 1
    assert [round(seconds, 3) for seconds in found.reclaims_s] == [1.6]


def test_a_run_that_is_passed_over_again_and_again_is_found() -> None:
    young = [f"young-{number:02d}" for number in range(20)]
    found = judge_claim_order(
        [
            QueueEvent(0.0, "old", CREATED),
            QueueEvent(0.1, "old", STARTED),
            *[QueueEvent(0.2, run_id, CREATED) for run_id in young],
            QueueEvent(5.0, "old", INTERRUPTED),
            *[QueueEvent(5.1 + number * 0.1, run_id, STARTED) for number, run_id in enumerate(young)],
            QueueEvent(7.5, "old", STARTED),
        ]
    )
    assert len(found.violations) == 10, "the first ten came within a second"
    assert len(found.overtaken) == 1


def test_a_run_waits_since_the_end_of_its_backoff_and_is_as_old_as_that() -> None:
    lost = [
        QueueEvent(0.0, "old", CREATED),
        QueueEvent(0.1, "old", STARTED),
        QueueEvent(0.2, "young", CREATED),
        QueueEvent(1.0, "old", INTERRUPTED, delay_s=8.0),
    ]
    before, after = QueueEvent(8.0, "young", STARTED), QueueEvent(20.0, "young", STARTED)
    assert judge_claim_order([*lost, before, QueueEvent(9.5, "old", STARTED)]).overtaken == []
    assert judge_claim_order([*lost, after, QueueEvent(30.0, "old", STARTED)]).violations == []
    late = [QueueEvent(9.1, "younger", CREATED), QueueEvent(10.5, "younger", STARTED)]
    assert len(judge_claim_order([*lost, before, *late]).violations) == 1
    soon = [QueueEvent(9.1, "younger", CREATED), QueueEvent(9.9, "younger", STARTED)]
    assert judge_claim_order([*lost, before, *soon]).violations == []


def test_an_event_of_a_run_that_is_set_aside_does_not_start_its_wait_anew() -> None:
    events = [QueueEvent(0.0, "old", CREATED), QueueEvent(0.5, "young", CREATED)]
    deferred = QueueEvent(1.4, "old", EventKind.HOST_DEFERRED)
    assert len(judge_claim_order([*events, deferred, QueueEvent(1.5, "young", STARTED)]).violations) == 1


def test_bands_and_ignored_runs_are_judged_apart() -> None:
    events = [
        QueueEvent(0.0, "old", CREATED, band=1),
        QueueEvent(0.5, "young", CREATED, band=0),
        QueueEvent(5.0, "young", STARTED, band=0),
    ]
    assert judge_claim_order(events).violations == []
    same = [event._replace(band=0) for event in events]
    assert len(judge_claim_order(same).violations) == 1
    assert judge_claim_order(same, ignored=["old"]).violations == []
    assert judge_claim_order(same, ignored=["young"]).violations == []


def test_a_paused_run_does_not_wait() -> None:
    events = [
        QueueEvent(0.0, "old", CREATED),
        QueueEvent(0.1, "young", CREATED),
        QueueEvent(0.2, "old", EventKind.PAUSED),
        QueueEvent(5.0, "young", STARTED),
    ]
    assert judge_claim_order(events).violations == []
