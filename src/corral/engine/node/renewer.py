"""Renew leases: a thread reads the heartbeats of workers and renews the leases of live ones.

It shares only a snapshot with the event loop, so that a blocked loop costs no lease.
"""

import select
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from corral.domain.errors import StorageError
from corral.domain.ids import Owner
from corral.domain.ports.stores import RunStore
from corral.engine.node.pool import Key, WorkerProcess

LEASE_S = 10.0
RENEW_EVERY_S = 1.0
# After this long without a confirmed renewal, nothing new is started: another node may soon own the runs.
SELF_FENCE_S = 7.0


@dataclass(frozen=True, slots=True)
class HeldLeases:
    """The current leases: those of each worker, and those of the node before and after execution."""

    workers: tuple[WorkerProcess, ...]
    by_node: tuple[Key, ...]


class Renewer:
    def __init__(
        self,
        store: RunStore,
        owner: Owner,
        snapshot: Callable[[], HeldLeases],
        lost: Callable[[set[Key]], None],
    ) -> None:
        self._store = store
        self._owner = owner
        self._snapshot = snapshot
        self._lost = lost
        self._stop = threading.Event()
        self._confirmed = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="renewer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=5)

    @property
    def is_fenced(self) -> bool:
        return time.monotonic() - self._confirmed > SELF_FENCE_S

    @property
    def has_lapsed(self) -> bool:
        """Return whether leases may have expired unnoticed."""
        return time.monotonic() - self._confirmed > LEASE_S

    def _run(self) -> None:
        next_renewal = time.monotonic()
        while not self._stop.is_set():
            snapshot = self._snapshot()
            self._read_heartbeats(snapshot.workers, until=next_renewal)
            if time.monotonic() >= next_renewal:
                next_renewal = time.monotonic() + RENEW_EVERY_S
                self._renew(snapshot)

    def _read_heartbeats(self, workers: Iterable[WorkerProcess], until: float) -> None:
        """Collect heartbeats until it is time to renew."""
        by_fd = {worker.beat.fileno(): worker for worker in workers if worker.beat.fileno() >= 0}
        poll = select.poll()
        for fd in by_fd:
            poll.register(fd, select.POLLIN)
        while not self._stop.is_set():
            # Read at least once, however late it is: heartbeats that arrived during a pause count.
            wait_s = max(0.0, min(until - time.monotonic(), 0.2))
            if not by_fd:
                self._stop.wait(wait_s)
                return
            for fd, _ in poll.poll(wait_s * 1000):
                if _drain(by_fd[fd]):
                    by_fd[fd].silent_rounds = 0
                else:
                    poll.unregister(fd)
                    del by_fd[fd]
            if time.monotonic() >= until:
                return

    def _renew(self, snapshot: HeldLeases) -> None:
        now = time.monotonic()
        keys: list[Key] = list(snapshot.by_node)
        for worker in snapshot.workers:
            worker.silent_rounds += 1
            if not worker.is_silent:
                keys += list(worker.held)
        try:
            held = self._store.renew_from_thread(keys, self._owner, LEASE_S)
        except StorageError:
            return  # not confirmed; if this continues, the fence closes by itself
        self._confirmed = now
        if len(held) < len(keys):
            self._lost(set(keys) - held)


def _drain(worker: WorkerProcess) -> bool:
    """Read all pending heartbeats; return whether there was one, and False if the worker closed its end."""
    has_beat = False
    while True:
        try:
            if not worker.beat.recv(64):
                return False
            has_beat = True
        except BlockingIOError:
            return has_beat
        except OSError:
            return False
