"""Rows of workflows as values, and the lock that orders all changes of one workflow."""

from typing import Any, NamedTuple

import sqlalchemy as sa

from corral.domain.errors import WorkflowNotFound
from corral.domain.jobs.job import Priority
from corral.domain.workflows.graph import ALONE
from corral.domain.workflows.spec import WorkflowSpec
from corral.domain.workflows.states import StepNow, StepState
from corral.store.rows import from_json
from corral.store.tx import Row, Tx, first, param, values
from corral.store.workflow_tables import workflow_definitions as definitions
from corral.store.workflow_tables import workflow_steps as steps
from corral.store.workflow_tables import workflows

_SPECS: dict[str, WorkflowSpec] = {}
_MAX_SPECS = 256


class WorkflowRow(NamedTuple):
    id: str
    run_id: str
    name: str
    version: int
    digest: str
    job_id: str | None
    priority: Priority
    recoveries: int
    max_recoveries: int
    setup: dict[str, Any]
    created_at: int


_LOCK = sa.select(workflows).where(workflows.c.id == param("id")).with_for_update()
_LOCK_BY_RUN = sa.select(workflows).where(workflows.c.run_id == param("run_id")).with_for_update()
_BY_RUN = sa.select(workflows.c.id).where(workflows.c.run_id == param("run_id"))
_DELETE = sa.delete(workflows).where(workflows.c.id == param("id"))
_DELETE_STEPS = sa.delete(steps).where(steps.c.workflow_id == param("id"))
_GET = sa.select(workflows).where(workflows.c.id == param("id"))
_DEFINITION = sa.select(definitions.c.document).where(
    definitions.c.name == param("name"), definitions.c.version == param("version")
)
_STATES = sa.select(steps.c.step_key, steps.c.state, steps.c.reason).where(
    steps.c.workflow_id == param("id"), steps.c.item == ALONE
)


def workflow_of(row: Row) -> WorkflowRow:
    id_, run_id, name, version, digest, job_id, priority, recoveries, max_recoveries, setup, created_at = row
    return WorkflowRow(
        id_,
        run_id,
        name,
        version,
        digest,
        job_id,
        Priority(priority),
        recoveries,
        max_recoveries,
        from_json(setup),
        created_at,
    )


def lock(tx: Tx, workflow_id: str) -> WorkflowRow:
    """Lock a workflow. Every change holds this lock, so two children that end together see each other's end.

    Every caller takes it before the locks of runs: otherwise a cancel and a settlement could deadlock.
    """
    found = first(tx.all(_LOCK, values(id=workflow_id)))
    if found is None:
        raise WorkflowNotFound(workflow_id)
    return workflow_of(found)


def lock_by_run(tx: Tx, run_id: str) -> WorkflowRow | None:
    """Lock the workflow whose latest run this is. None for an earlier run, whose end changes nothing."""
    found = first(tx.all(_LOCK_BY_RUN, values(run_id=run_id)))
    return None if found is None else workflow_of(found)


def get(tx: Tx, workflow_id: str) -> WorkflowRow:
    found = first(tx.all(_GET, values(id=workflow_id)))
    if found is None:
        raise WorkflowNotFound(workflow_id)
    return workflow_of(found)


def spec_of(tx: Tx, row: WorkflowRow) -> WorkflowSpec:
    """Return the definition of a workflow, read once per process and content."""
    spec = _SPECS.get(row.digest)
    if spec is None:
        document = tx.all(_DEFINITION, values(name=row.name, version=row.version))[0][0]
        spec = WorkflowSpec.read(from_json(document))
        if len(_SPECS) >= _MAX_SPECS:
            _SPECS.clear()
        _SPECS[row.digest] = spec
    return spec


def read_states(tx: Tx, workflow_id: str) -> dict[str, StepNow]:
    rows = tx.all(_STATES, values(id=workflow_id))
    return {key: StepNow(StepState(state), reason) for key, state, reason in rows}


def forget(tx: Tx, run_id: str) -> None:
    """Delete a workflow with its latest run. Its definition stays, so that a version number is never reused."""
    found = first(tx.all(_BY_RUN, values(run_id=run_id)))
    if found is not None:
        tx.run(_DELETE_STEPS, values(id=found[0]))
        tx.run(_DELETE, values(id=found[0]))
