"""`from corral.workflows import JobOrchestrator, WorkflowStep, WorkflowDefinition`: workflows of a Python program."""

from corral.domain.workflows.spec import InvalidWorkflow
from corral.domain.workflows.states import TaskStatus, WorkflowStatus
from corral.workflows.definition import WorkflowDefinition, WorkflowStep
from corral.workflows.models import WorkflowState, WorkflowTask
from corral.workflows.orchestrator import JobOrchestrator
from corral.workflows.repositories import repositories

__all__ = [
    "InvalidWorkflow",
    "JobOrchestrator",
    "TaskStatus",
    "WorkflowDefinition",
    "WorkflowState",
    "WorkflowStatus",
    "WorkflowStep",
    "WorkflowTask",
    "repositories",
]
