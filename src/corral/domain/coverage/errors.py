"""Errors of reconciliation."""

from corral.domain.errors import CorralError, NotFound


class InventoryUnreadable(CorralError):
    """A source cannot be compared: its gaps are unknown, and no task is created."""

    code = "inventory_unreadable"


class CoverageNotFound(NotFound):
    def __init__(self, run_id: str | None) -> None:
        what = "nothing was reconciled yet" if run_id is None else f"run {run_id} has no coverage report"
        super().__init__(what, hint="reconcile with POST /queue/reconcile or `corral queue reconcile`")
