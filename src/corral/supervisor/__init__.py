"""Supervise the processes of an installation: plan, start, watch, stop.

`Orchestrator` is imported on first access: it uses the wiring, which this package must not import.
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
