"""A lease that a worker process holds, as the node sees it."""

from dataclasses import dataclass

from corral.domain.quality.run_profile import ObservedData
from corral.domain.runs.run import Lease


@dataclass(slots=True)
class HeldLease:
    """A run that a worker executes."""

    lease: Lease
    started: float  # on the monotonic clock
    deadline: float
    cancelled_at: float | None = None
    timed_out: bool = False
    data: ObservedData | None = None  # of a crawl: read from its records at the end
