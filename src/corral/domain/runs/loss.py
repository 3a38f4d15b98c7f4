"""Assign the blame for the death of a worker process to the runs that it held.

A loss counts against a run only with evidence that the run caused it: the process ended by its own fault while it
executed this run. Everything else is an interruption: the run returns to the queue and nothing counts.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TypeVar

from corral.domain.runs.run import CRAWL, CRAWL_HELPER, Lease

Key = TypeVar("Key")

# Losses with certain blame after which a run is held for a person.
LOSS_CAP = 3
# The cap of a crawl is higher: it first tries its pages in isolation, and every finished page resets the count.
CRAWL_LOSS_CAP = 3 * LOSS_CAP

# A delay costs a run its position in the queue, so it applies only to repeated interruptions.
_INTERRUPTIONS_WITHOUT_DELAY = 10
_FIRST_BACKOFF_S = 0.25
_MAX_BACKOFF_S = 2.0


class DeathCause(StrEnum):
    """Why a worker process died, as its node saw it."""

    CRASH = "crash"  # a crash signal, or it exited without being told to
    SILENCE = "silence"  # we killed it: no heartbeat
    MEMORY = "memory"  # we, or the kernel's OOM killer, killed it for the memory it used
    OUTSIDE = "outside"  # killed or stopped from outside

    @property
    def names_the_run(self) -> bool:
        """True if the run that was executing at that moment is the cause.

        For memory it is not certain: a run that is waiting now may have allocated it.
        """
        return self in (DeathCause.CRASH, DeathCause.SILENCE)


# Signals that a process receives because of its own actions.
_CRASH_SIGNALS = frozenset({"SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGSYS", "SIGTRAP", "SIGXCPU"})


def cause_of_exit(signal_name: str | None, *, oom_kills: int) -> DeathCause:
    """Return why a process died that we did not kill. Without a signal it exited, which no worker does unless told."""
    if signal_name is None or signal_name in _CRASH_SIGNALS:
        return DeathCause.CRASH
    return DeathCause.MEMORY if signal_name == "SIGKILL" and oom_kills > 0 else DeathCause.OUTSIDE


class Blame(StrEnum):
    CERTAIN = "certain"  # the worker was executing this run, or held no other
    SUSPECTED = "suspected"  # one of several runs is the cause, and it is not known which
    NONE = "none"  # an interruption


class Suspicion(IntEnum):
    """How a run is executed after a worker died with it: the fewer runs share a worker, the surer the next blame."""

    NONE = 0
    GROUP = 1  # in the isolation worker, with a few others
    ALONE = 2  # in the isolation worker, by itself

    def rise(self) -> "Suspicion":
        return Suspicion(min(self + 1, Suspicion.ALONE))


def assign_blame(cause: DeathCause, held: Collection[Key], executing: Key | None) -> Mapping[Key, Blame]:
    """Return the blame of each run that the dead worker held; `executing` is the one that it executed."""
    if cause is DeathCause.OUTSIDE:
        return dict.fromkeys(held, Blame.NONE)
    if len(held) == 1:
        return dict.fromkeys(held, Blame.CERTAIN)
    if cause.names_the_run and executing in held:
        return {key: Blame.CERTAIN if key == executing else Blame.NONE for key in held}
    return dict.fromkeys(held, Blame.SUSPECTED)


def suspicion_after(blame: Blame, kind: str, before: Suspicion) -> Suspicion:
    """Return how isolated a run is executed from now on.

    A crawl isolates its pages itself; it only needs its own worker.
    """
    if kind == CRAWL_HELPER:
        return Suspicion.NONE
    if blame is Blame.SUSPECTED:
        return Suspicion.ALONE if kind == CRAWL else before.rise()
    return Suspicion.ALONE if blame is Blame.CERTAIN and kind != CRAWL else before


def loss_cap(kind: str) -> int:
    return CRAWL_LOSS_CAP if kind in (CRAWL, CRAWL_HELPER) else LOSS_CAP


def interruption_backoff_s(interruptions: int) -> float:
    """Return the backoff after this number of interruptions in a row. The first ones are retried at once."""
    repeated = interruptions - _INTERRUPTIONS_WITHOUT_DELAY
    # The exponent is bounded: a run may be interrupted thousands of times.
    return 0.0 if repeated <= 0 else min(_MAX_BACKOFF_S, _FIRST_BACKOFF_S * 2 ** min(repeated - 1, 10))


@dataclass(frozen=True, slots=True)
class Loss:
    """A worker process died, or a whole node vanished, holding this lease."""

    lease: Lease
    blame: Blame
    exit_status: str
    stderr_tail: str = ""
