"""A decided transition on its way to the store, under the lease it was decided for."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from corral.domain.artifact import Artifact
from corral.domain.retry import Transition
from corral.domain.run import Lease


class Settlement(NamedTuple):
    lease: Lease
    transition: Transition
    attempt_entry: dict[str, Any]  # one line of the run's `engine_attempts`
    recipe: dict[str, Any] | None = None  # what the attempt taught about the site, still to be kept
    artifacts: tuple[Artifact, ...] = ()  # what the attempt left behind


@dataclass(frozen=True, slots=True)
class Loss:
    """A worker process died holding this lease. Only a run that was alone in it is to blame."""

    lease: Lease
    alone: bool
    exit_status: str
    stderr_tail: str
    witnessed: bool = True  # the process was seen to end; else its lease ran out, and its whole node may be gone
