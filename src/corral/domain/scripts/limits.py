"""The limits of one execution of a script."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

DEFAULT_TIMEOUT_S = 300.0
# Queue files round estimates to minutes: an estimate of zero must not end the script at once.
MIN_TIMEOUT_S = 10.0
MAX_TIMEOUT_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class ScriptLimits:
    """The limits of a script with all processes that it starts. A limit that is reached ends all of them."""

    memory_mib: int = 2048  # resident, summed over its processes
    processes: int = 256  # its threads do not count
    output_mib: int = 64  # of stdout and stderr together
    records: int = 200_000
    file_mib: int = 10_240  # the size of one file that it writes
    cpu_s: int | None = None  # of one process; None: the time limit is enough

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(**{name: document[name] for name in LIMIT_NAMES if name in document})

    def document(self) -> dict[str, Any]:
        """Return only limits that differ from their default."""
        usual = asdict(USUAL_LIMITS)
        return {name: value for name, value in asdict(self).items() if value != usual[name]}


USUAL_LIMITS = ScriptLimits()
LIMIT_NAMES = tuple(asdict(USUAL_LIMITS))


def choose_timeout_s(estimated_minutes: float | None, configured_s: float | None) -> float:
    """Return the estimate of the task, else the timeout of the scraper, else five minutes, within the bounds."""
    if estimated_minutes is not None:
        return min(max(estimated_minutes * 60, MIN_TIMEOUT_S), MAX_TIMEOUT_S)
    return DEFAULT_TIMEOUT_S if configured_s is None else min(configured_s, MAX_TIMEOUT_S)
