"""A transition to be written, under the lease for which it was decided."""

from typing import Any, NamedTuple

from corral.domain.quality.run_profile import ObservedData
from corral.domain.runs.artifact import Artifact
from corral.domain.runs.retry import Transition
from corral.domain.runs.run import Lease


class Settlement(NamedTuple):
    lease: Lease
    transition: Transition
    attempt_entry: dict[str, Any]  # one line of the run's `engine_attempts`
    recipe: dict[str, Any] | None = None  # a recorded recipe, to be stored
    artifacts: tuple[Artifact, ...] = ()  # files of the attempt
    data: ObservedData | None = None  # compared with the history of the job
