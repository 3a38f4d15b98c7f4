"""Which tasks start: strict bands, age, limits of scrapers, and the share of the lower bands."""

import math
from collections.abc import Sequence

from corral.domain.jobs.job import Priority
from corral.domain.queue.feed import FeedRules, ReadyTask, RunningTask, ScraperLimit, choose_tasks

CRITICAL, HIGH, LOW = Priority.CRITICAL, Priority.HIGH, Priority.LOW


def _ready(*bands: Priority, scraper: str = "a", first: int = 1) -> list[ReadyTask]:
    return [ReadyTask(band, first + number, f"t{first + number}", scraper) for number, band in enumerate(bands)]


def _choose(
    ready: Sequence[ReadyTask], rules: FeedRules, running: Sequence[RunningTask] = (), due: float = 0.0
) -> list[str]:
    return [task.id for task in choose_tasks(ready, running, {"a": due}, rules, now_s=100.0).tasks]


def test_bands_come_strictly_and_age_decides_within_a_band() -> None:
    ready = _ready(LOW, CRITICAL, HIGH, CRITICAL)
    assert _choose(ready, FeedRules(3)) == ["t2", "t4", "t3"]
    assert _choose(ready, FeedRules(9)) == ["t2", "t4", "t3", "t1"]


def test_running_tasks_use_slots_and_those_that_wait_for_a_retry_do_not() -> None:
    running = [RunningTask("a", CRITICAL), RunningTask("a", CRITICAL, is_waiting=True)]
    assert _choose(_ready(HIGH, HIGH, HIGH), FeedRules(2), running) == ["t1"]


def test_a_scraper_at_its_limit_lets_others_of_its_band_pass_but_holds_the_bands_below() -> None:
    rules = FeedRules(5, scrapers={"a": ScraperLimit(max_concurrent=1)})
    ready = [*_ready(CRITICAL, CRITICAL), *_ready(CRITICAL, LOW, scraper="b", first=10)]
    assert _choose(ready, rules) == ["t1", "t10"]
    assert _choose(ready, rules, [RunningTask("a", CRITICAL, is_waiting=True)]) == ["t10"]


def test_the_rate_of_a_scraper_spaces_its_starts() -> None:
    rules = FeedRules(5, scrapers={"a": ScraperLimit(interval_s=10)})
    assert _choose(_ready(LOW, LOW), rules) == ["t1"]
    assert _choose(_ready(LOW, LOW), rules, due=105) == []
    assert _choose(_ready(LOW, LOW), rules, due=100) == ["t1"]
    assert choose_tasks(_ready(LOW), [], {}, rules, now_s=100.0).next_due_s == {"a": 110.0}


def test_a_burst_may_start_at_once_and_then_the_rate_holds() -> None:
    rules = FeedRules(9, scrapers={"a": ScraperLimit(interval_s=10, burst=3)})
    choice = choose_tasks(_ready(LOW, LOW, LOW, LOW), [], {}, rules, now_s=100.0)
    assert [task.id for task in choice.tasks] == ["t1", "t2", "t3"]
    assert choose_tasks(_ready(LOW), [], choice.next_due_s, rules, now_s=109.0).tasks == []
    assert len(choose_tasks(_ready(LOW, LOW), [], choice.next_due_s, rules, now_s=110.0).tasks) == 1


def test_one_rate_may_hold_for_all_scrapers_together() -> None:
    rules = FeedRules(9, scrapers={"b": ScraperLimit(interval_s=30)}, interval_s=10)
    ready = [*_ready(HIGH, HIGH), *_ready(HIGH, scraper="b", first=10)]
    first = choose_tasks(ready, [], {}, rules, now_s=100.0)
    assert ([task.id for task in first.tasks], first.wait_s) == (["t1"], 10.0)
    assert choose_tasks(ready, [], first.next_due_s, rules, now_s=109.0).tasks == []
    second = choose_tasks(ready[2:], [], first.next_due_s, rules, now_s=110.0)
    assert (second.tasks, second.next_due_s) == (ready[2:], {"*": 120.0, "b": 140.0})


def test_a_feed_says_when_a_rate_lets_the_next_task_start() -> None:
    rules = FeedRules(9, scrapers={"a": ScraperLimit(interval_s=10, burst=2), "b": ScraperLimit(max_concurrent=1)})
    held = [*_ready(LOW), *_ready(LOW, scraper="b", first=10)]
    assert choose_tasks(held, [RunningTask("b", LOW)], {"a": 114.0}, rules, now_s=100.0).wait_s == 4.0
    assert choose_tasks(held[1:], [RunningTask("b", LOW)], {}, rules, now_s=100.0).wait_s == math.inf


def test_a_share_keeps_the_lower_bands_moving() -> None:
    ready = [*_ready(*[CRITICAL] * 9), *_ready(LOW, LOW, first=20)]
    assert _choose(ready, FeedRules(5)) == ["t1", "t2", "t3", "t4", "t5"]
    shared = FeedRules(5, lower_share=0.2)
    assert _choose(ready, shared) == ["t1", "t2", "t3", "t4", "t20"]
    assert _choose(ready, shared, [RunningTask("a", LOW)]) == ["t1", "t2", "t3", "t4"]
    assert _choose(_ready(*[CRITICAL] * 9), shared) == ["t1", "t2", "t3", "t4", "t5"]
