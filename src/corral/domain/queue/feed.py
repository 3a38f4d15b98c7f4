"""Choose the tasks to start: strict bands, oldest first within a band, within the limits of scrapers and in total."""

import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from corral.domain.jobs.job import Priority
from corral.domain.runs.run import NewRun


class ReadyTask(NamedTuple):
    """A task that waits for its first run; tuples sort in the order in which they start."""

    priority: Priority
    seq: int
    id: str
    scraper: str


class TaskScope(NamedTuple):
    """The tasks that a feed may start. `first_seq` is the lowest number among `ids`: the query skips lower ones."""

    ids: Container[str]
    first_seq: int = 0


class ScraperLimit(NamedTuple):
    max_concurrent: int | None = None
    interval_s: float = 0.0  # between two starts
    burst: int = 1  # starts that may happen at once after a pause

    def next_due_s(self, due_s: float, now_s: float) -> float:
        """Return when the rate allows the next start, after a start at `now_s` that was due at `due_s`."""
        return max(now_s, due_s) + self.interval_s

    def wait_s(self, due_s: float, now_s: float) -> float:
        """Return the seconds until the rate allows the next start; 0 or less if it is due."""
        return due_s - (self.burst - 1) * self.interval_s - now_s if self.interval_s else 0.0


class RunningTask(NamedTuple):
    scraper: str
    priority: Priority
    is_waiting: bool = False  # for a retry: it holds a slot of its scraper, but none of the queue


@dataclass(frozen=True, slots=True)
class FeedRules:
    max_concurrent: int = 5
    # The part of the slots that bands below the first may use while the first still has ready tasks.
    lower_share: float = 0.0
    scrapers: Mapping[str, ScraperLimit] = field(default_factory=dict)
    interval_s: float = 0.0  # between two starts of any scrapers

    @property
    def lower_slots(self) -> int:
        return 0 if self.lower_share <= 0 else max(1, int(self.max_concurrent * self.lower_share))


@dataclass(slots=True)
class FeedResult:
    """The result of one feed. `is_waiting`: ready tasks are left; `wait_s`: until a rate allows one of them."""

    started: dict[str, NewRun] = field(default_factory=dict)  # by task
    refused: list[str] = field(default_factory=list)
    ended: int = 0
    is_waiting: bool = False
    wait_s: float = math.inf


class Choice(NamedTuple):
    """The tasks to start, in order, and when the rate of their scrapers allows the next start.

    `wait_s` is the time until a task may start that only a rate holds back.
    """

    tasks: list[ReadyTask]
    next_due_s: dict[str, float]
    wait_s: float = math.inf


_NO_LIMIT = ScraperLimit()
# Stands for all scrapers together; no scraper can have this name.
_ALL = "*"


class _Room:
    """The slots that are left, counted down as tasks are chosen."""

    def __init__(self, rules: FeedRules, running: Sequence[RunningTask], due_s: Mapping[str, float]) -> None:
        self._rules = rules
        self.total = rules.max_concurrent - sum(1 for each in running if not each.is_waiting)
        self._of_scraper = Counter(each.scraper for each in running)
        self._due_s = due_s
        self.next_due_s: dict[str, float] = {}
        self.wait_s = math.inf

    def has_room(self, scraper: str, now_s: float) -> bool:
        limit = self._limit_of(scraper)
        if limit.max_concurrent is not None and self._of_scraper[scraper] >= limit.max_concurrent:
            return False
        wait_s = max(self._limit_of(each).wait_s(self._find_due_s(each), now_s) for each in (scraper, _ALL))
        if wait_s > 0:
            self.wait_s = min(self.wait_s, wait_s)
        return wait_s <= 0

    def _limit_of(self, scraper: str) -> ScraperLimit:
        if scraper == _ALL:
            return ScraperLimit(None, self._rules.interval_s)
        return self._rules.scrapers.get(scraper, _NO_LIMIT)

    def _find_due_s(self, scraper: str) -> float:
        return self.next_due_s.get(scraper, self._due_s.get(scraper, 0.0))

    def take_up_to(self, limit: int, tasks: Iterable[ReadyTask], now_s: float) -> list[ReadyTask]:
        """Choose the first tasks whose scraper has room, and reserve their slots."""
        started: list[ReadyTask] = []
        for task in tasks:
            if len(started) >= limit:
                break
            if self.has_room(task.scraper, now_s):
                started.append(task)
                self.total -= 1
                self._of_scraper[task.scraper] += 1
                self._note_start(task.scraper, now_s)
        return started

    def _note_start(self, scraper: str, now_s: float) -> None:
        for name in (scraper, _ALL):
            limit = self._limit_of(name)
            if limit.interval_s:
                self.next_due_s[name] = limit.next_due_s(self._find_due_s(name), now_s)


def choose_tasks(
    ready: Iterable[ReadyTask],
    running: Sequence[RunningTask],
    due_s: Mapping[str, float],
    rules: FeedRules,
    now_s: float,
) -> Choice:
    """Choose the tasks to start now. `due_s` is when the rate of each scraper allows its next start.

    A band starts when no band above it has a ready task left, even if such a task only waits for the limit of its
    scraper. `lower_share` reserves slots for the lower bands, so that they never starve.
    """
    waiting = sorted(ready)
    room = _Room(rules, running, due_s)
    chosen: list[ReadyTask] = []
    while waiting and room.total > 0:
        top = waiting[0].priority
        lower = [task for task in waiting if task.priority > top]
        in_lower = sum(1 for each in running if each.priority > top and not each.is_waiting)
        reserved = max(0, rules.lower_slots - in_lower) if lower else 0
        in_band = [task for task in waiting if task.priority == top]
        started = room.take_up_to(room.total - reserved, in_band, now_s)
        chosen += started
        if len(started) < len(in_band):
            chosen += room.take_up_to(min(reserved, room.total), lower, now_s)
            break
        waiting = lower
    return Choice(chosen, room.next_due_s, room.wait_s)
