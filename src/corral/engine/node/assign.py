"""Assign runs to workers, compute free capacity, and find runs past their time limit."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from corral.domain.jobs.job import Strategy
from corral.domain.ports.execution import task_of
from corral.domain.runs.page_budget import limit_attempt_s
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.runs.run import CRAWL, SCRIPT, WITH_ITEMS, Lanes, Lease, start_margin_s, stop_margin_s
from corral.engine.held_lease import HeldLease
from corral.engine.node.pool import Key, WorkerPool, WorkerProcess
from corral.engine.worker import messages as wire

# The executor enforces the limit itself. After this extra time the node cancels the run; then it kills the worker.
_MARGIN_S = 1.0
_KILL_AFTER_S = 2.0
_DEFAULT_TIMEOUT_S = 20.0
_ISOLATION_IDLE_S = 10.0
_ISOLATION_S = 30.0


@dataclass(slots=True)
class WorkerLimits:
    """Concurrent runs per worker; a page in a browser costs a hundred times as much as one over HTTP."""

    runs: int
    browsers: int
    total: int | None = None  # for all workers of this node together; may change while it runs


class Assignment:
    def __init__(
        self, pool: WorkerPool, limits: WorkerLimits, timeouts_s: Mapping[str, float], is_fenced: Callable[[], bool]
    ) -> None:
        self._pool = pool
        self._is_fenced = is_fenced
        self._limits = limits
        self._timeouts_s = timeouts_s
        self._waiting: deque[Lease] = deque()
        self._suspects: deque[Lease] = deque()
        self._idle_since: float | None = None

    @property
    def count(self) -> int:
        held = sum(len(worker.held) for worker in self._pool.workers.values())
        return held + len(self._waiting) + len(self._suspects)

    @property
    def capacity(self) -> int:
        return len(self._pool.workers) * self._limits.runs

    def room(self) -> int:
        """Return how many more runs fit, without suspects."""
        usable = [worker for worker in self._pool.workers.values() if worker.takes_work]
        capacity = len(usable) * self._limits.runs
        room = capacity - sum(len(worker.held) for worker in usable) - len(self._waiting)
        total = self._limits.total
        return max(0, room if total is None else min(room, total - self.count))

    def isolation_room(self) -> int:
        """Return 1 if the isolation worker can take the next suspects: one group or one single run at a time."""
        isolated = self._pool.isolated
        return int(not self._suspects and (isolated is None or not isolated.held))

    def count_by_host(self) -> Counter[str]:
        """Count the runs of each host that this node executes or is about to execute."""
        leases = [held.lease for worker in self._pool.workers.values() for held in worker.held.values()]
        every = (lease.run.host_key for lease in [*leases, *self._waiting, *self._suspects])
        return Counter(host_key for host_key in every if host_key is not None)

    def browser_room(self) -> int:
        usable = [worker for worker in self._pool.workers.values() if worker.takes_work]
        waiting = sum(by_browser(lease) for lease in self._waiting)
        return max(0, len(usable) * self._limits.browsers - sum(map(_browsers, usable)) - waiting)

    def free_lanes(self, crawls: int, scripts: int, ended: Sequence[Lease]) -> Lanes:
        """Return the room of each lane. An ended run counts until its end is stored."""
        browsers = self.browser_room() - sum(map(by_browser, ended))
        ended_scripts = sum(lease.run.kind == SCRIPT for lease in ended)
        return Lanes(
            max(0, browsers),
            max(0, self._room_of_kind(CRAWL, crawls)),
            scripts=max(0, self._room_of_kind(SCRIPT, scripts) - ended_scripts),
            suspects=self.isolation_room(),
        )

    def _room_of_kind(self, kind: str, limit: int) -> int:
        executing = [held.lease for worker in self._pool.workers.values() for held in worker.held.values()]
        return limit - sum(lease.run.kind == kind for lease in [*executing, *self._waiting, *self._suspects])

    def helper_room(self) -> int:
        """Return how many workers without a crawl are free: a second crawl in one process would gain nothing."""
        free = [worker for worker in self._pool.workers.values() if worker.takes_work and not _crawls(worker)]
        waiting = sum(lease.run.kind in WITH_ITEMS for lease in [*self._waiting, *self._suspects])
        return max(0, min(len(free) - waiting, self.room()))

    def add(self, leases: Iterable[Lease]) -> None:
        for lease in leases:
            (self._suspects if lease.run.suspect else self._waiting).append(lease)
        self.fill()

    def fill(self) -> None:
        """Hand waiting runs to the workers with the most room."""
        if self._is_fenced():
            return
        self._send_suspects()
        if not self._waiting:
            return
        open_workers = self._open_workers()
        batches: dict[WorkerProcess, list[wire.ToWorker]] = {}
        remaining: deque[Lease] = deque()
        for lease in self._waiting:
            worker = self._best_for(lease, open_workers)
            if worker is None:
                remaining.append(lease)
            else:
                batches.setdefault(worker, []).append(self._begin(worker, lease))
        self._waiting = remaining
        for worker, messages in batches.items():
            worker.send(messages)

    def _best_for(self, lease: Lease, workers: list[WorkerProcess]) -> WorkerProcess | None:
        """Return the least busy worker with room for this run."""
        if by_browser(lease):
            workers = [worker for worker in workers if _browsers(worker) < self._limits.browsers]
        # Prefer a worker without a crawl for a crawl.
        is_crawl = lease.run.kind in WITH_ITEMS
        worker = min(workers, key=lambda each: (is_crawl and _crawls(each), len(each.held)), default=None)
        return worker if worker is not None and len(worker.held) < self._limits.runs else None

    def _open_workers(self) -> list[WorkerProcess]:
        return [worker for worker in self._pool.workers.values() if worker.takes_work]

    def _send_suspects(self) -> None:
        """Send all suspects of one claim together: a run that must be alone was also claimed alone."""
        if not self._suspects:
            return
        worker = self._pool.isolated
        if worker is None:
            self._pool.isolate()
        elif not worker.held and worker.can_work:
            worker.send([self._begin(worker, lease) for lease in self._suspects])
            self._suspects.clear()

    def tend_isolation(self, now: float) -> None:
        """Stop the isolation worker when no suspect needs it, and replace it when it stays busy for long."""
        worker = self._pool.isolated
        if worker is None or self._suspects:
            return
        if not worker.held:
            self._idle_since = now if self._idle_since is None else self._idle_since
            if now - self._idle_since > _ISOLATION_IDLE_S:
                self._pool.end_isolation()
            return
        self._idle_since = None
        # A healthy crawl may take hours there. It stays alone in its worker, and the next suspects get another one.
        if all(held.lease.run.kind == CRAWL and now - held.started > _ISOLATION_S for held in worker.held.values()):
            self._pool.end_isolation()

    def _begin(self, worker: WorkerProcess, lease: Lease) -> wire.StartRun:
        timeout_s = self._timeout_s(lease)
        now = time.monotonic()
        kind = lease.run.kind
        deadline = now + start_margin_s(kind) + timeout_s + _MARGIN_S + stop_margin_s(kind)
        worker.held[lease.key] = HeldLease(lease, started=now, deadline=deadline)
        return wire.start_run(task_of(lease, timeout_s))

    def _timeout_s(self, lease: Lease) -> float:
        own_s = lease.run.payload.read(CommonPayload).timeout_s
        timeout_s = own_s or self._timeouts_s.get(lease.run.resolved_strategy, _DEFAULT_TIMEOUT_S)
        return limit_attempt_s(lease.run, timeout_s)

    def waiting_keys(self) -> list[Key]:
        return [lease.key for lease in [*list(self._waiting), *list(self._suspects)]]

    # -- cancelling --------------------------------------------------------------------------------

    def keys_of(self, run_id: str) -> set[Key]:
        return {key for key in self.keys() if key[0] == run_id}

    def find_scripts(self, keys: set[Key]) -> set[Key]:
        """Return those of these runs that execute a script now."""
        held = [lease for worker in self._pool.workers.values() for lease in worker.held.values()]
        return {each.lease.key for each in held if each.lease.run.kind == SCRIPT} & keys

    def cancel_keys(self, keys: set[Key], signal: str = "") -> None:
        """Stop runs whose lease this node lost. Write nothing: another node owns the row.

        `signal` is the first signal that a script gets.
        """
        self._waiting = deque(lease for lease in self._waiting if lease.key not in keys)
        self._suspects = deque(lease for lease in self._suspects if lease.key not in keys)
        for worker in self._pool.workers.values():
            for key in keys & worker.held.keys():
                self._cancel(worker, key, signal)

    def _cancel(self, worker: WorkerProcess, key: Key, signal: str = "") -> None:
        held = worker.held[key]
        if held.cancelled_at is None:
            held.cancelled_at = time.monotonic()
            worker.send([wire.CancelRun(*key, signal)])

    def keys(self) -> Iterable[Key]:
        for lease in [*self._waiting, *self._suspects]:
            yield lease.key
        for worker in self._pool.workers.values():
            yield from worker.held

    def take_all(self) -> Sequence[Lease]:
        """Stop the workers and return all unfinished runs, to be requeued."""
        leases = [*self._waiting, *self._suspects]
        self._waiting.clear()
        self._suspects.clear()
        for worker in self._pool.workers.values():
            leases += [held.lease for held in worker.held.values() if held.cancelled_at is None or held.timed_out]
            worker.send([wire.CancelRun(*key) for key in worker.held])
            worker.held = {}
        return leases

    def overdue(self, now: float) -> list[WorkerProcess]:
        """Cancel runs past their time limit; return the workers that ignored an earlier cancel."""
        stubborn = []
        for worker in self._pool.workers.values():
            for key, held in list(worker.held.items()):
                if held.cancelled_at is None and now > held.deadline:
                    held.timed_out = True
                    self._cancel(worker, key)
                elif held.cancelled_at is not None and now > held.cancelled_at + _kill_after_s(held):
                    stubborn.append(worker)
                    break
        return [worker for worker in stubborn if not worker.retiring]


def _kill_after_s(held: HeldLease) -> float:
    return _KILL_AFTER_S + stop_margin_s(held.lease.run.kind)


def by_browser(lease: Lease) -> bool:
    return lease.run.resolved_strategy is Strategy.BROWSER


def _crawls(worker: WorkerProcess) -> int:
    return sum(held.lease.run.kind in WITH_ITEMS for held in worker.held.values())


def _browsers(worker: WorkerProcess) -> int:
    return sum(by_browser(held.lease) for held in worker.held.values())
