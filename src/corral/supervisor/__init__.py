"""Supervise the processes of an installation: plan, start, watch, stop.

`Orchestrator` stands above the wiring, which this package may not know; it is imported here on first access for it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corral.orchestrator import Orchestrator

__all__ = ["Orchestrator"]


def __getattr__(name: str) -> Any:
    if name != "Orchestrator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from corral.orchestrator import Orchestrator  # noqa: PLC0415 - see above

    return Orchestrator
