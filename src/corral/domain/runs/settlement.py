"""A decided transition on its way to the store, under the lease it was decided for."""

from typing import Any, NamedTuple

from corral.domain.quality.run_profile import ObservedData
from corral.domain.runs.artifact import Artifact
from corral.domain.runs.retry import Transition
from corral.domain.runs.run import Lease


class Settlement(NamedTuple):
    lease: Lease
    transition: Transition
    attempt_entry: dict[str, Any]  # one line of the run's `engine_attempts`
    recipe: dict[str, Any] | None = None  # what the attempt taught about the site, still to be kept
    artifacts: tuple[Artifact, ...] = ()  # what the attempt left behind
    data: ObservedData | None = None  # what is judged by the history of the job
