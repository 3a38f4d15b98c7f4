"""Interventions: opened when a run is held for a person, closed when the run continues."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from corral.domain.errors import InterventionClosed, InterventionNotFound
from corral.domain.runs.artifact import ArtifactKind
from corral.domain.runs.event import EventDraft, EventKind
from corral.domain.runs.intervention import Intervention, InterventionKind, InterventionStatus
from corral.domain.runs.payload.common import CommonPayload
from corral.domain.runs.run import Run, RunAction, target
from corral.domain.runs.settlement import Settlement
from corral.domain.sites.session import NewSession
from corral.runtime.new_ids import new_id
from corral.store.queries import events
from corral.store.queries.sites import sessions
from corral.store.rows import at, maybe_at, run_of, storable
from corral.store.tables import artifacts, interventions, runs
from corral.store.tx import LAST_ID, Row, Tx, insert_all, is_state, param, values

_INSERT = insert_all(interventions, without=("resolved_at",))
_OPEN = is_state(interventions.c.status, InterventionStatus.OPEN)
# A screenshot that retention or the quota deleted is not offered.
_COLUMNS = [column for column in interventions.c if column.name != "screenshot"]
_SEEN = sa.select(*_COLUMNS, artifacts.c.id.label("screenshot")).select_from(
    interventions.outerjoin(artifacts, artifacts.c.id == interventions.c.screenshot)
)
_GET = _SEEN.where(interventions.c.id == param("id"))


def _listing(*filters: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return (
        _SEEN.where(interventions.c.id < param("before"), *filters)
        .order_by(interventions.c.id.desc())
        .limit(param("limit"))
    )


_LIST = _listing()
_LIST_STATUS = {status: _listing(is_state(interventions.c.status, status)) for status in InterventionStatus}
_CLOSE = (
    sa.update(interventions)
    .where(interventions.c.id == param("id"), _OPEN)
    .values(status=InterventionStatus.RESOLVED.value, resolved_at=param("wall"))
    .returning(interventions.c.id)
)
_CLOSE_OF_RUN = (
    sa.update(interventions)
    .where(interventions.c.run_id == param("run_id"), _OPEN)
    .values(status=param("status"), resolved_at=param("wall"))
)
_RESUME = (
    sa.update(runs)
    .where(runs.c.id == param("id"), runs.c.state == "held")
    .values(
        state=target(RunAction.RESUME).value,
        hold_reason=sa.null(),
        owner=sa.null(),
        lease_until=sa.null(),
        failure_code=sa.null(),
        failure_detail=sa.null(),
        error_message=sa.null(),
        losses=0,  # resuming a quarantined run means trying it again
        seq=runs.c.seq + 1,
    )
    .returning(runs)
)
_RUN = sa.select(runs).where(runs.c.id == param("id"))


def _intervention(row: Row) -> Intervention:
    id_, run_id, job_id, kind, reason, url, status, created, resolved, screenshot = row
    return Intervention(
        id_,
        run_id,
        job_id,
        InterventionKind(kind),
        reason,
        url,
        InterventionStatus(status),
        at(created),
        maybe_at(resolved),
        screenshot,
    )


def open_for(tx: Tx, settlements: Sequence[Settlement]) -> None:
    """Open an intervention for each run that was just held."""
    rows = [
        values(
            id=new_id(),
            run_id=settlement.lease.run_id,
            job_id=settlement.lease.run.job_id,
            kind=draft.kind.value,
            reason=storable(draft.reason[:2000]),
            url=draft.url,
            status=InterventionStatus.OPEN.value,
            created_at=tx.wall_ms,
            screenshot=next((each.id for each in settlement.artifacts if each.kind is ArtifactKind.SCREENSHOT), None),
        )
        for settlement in settlements
        if (draft := settlement.transition.intervention) is not None
    ]
    if rows:
        tx.many(_INSERT, rows)


def open_one(tx: Tx, run: Run, kind: InterventionKind, reason: str) -> None:
    """Open an intervention for a run that was held without an outcome."""
    row = values(
        id=new_id(),
        run_id=run.id,
        job_id=run.job_id,
        kind=kind.value,
        reason=storable(reason[:2000]),
        url=run.payload.read(CommonPayload).url or None,
        status=InterventionStatus.OPEN.value,
        created_at=tx.wall_ms,
        screenshot=None,
    )
    tx.many(_INSERT, [row])


def get(tx: Tx, intervention_id: str) -> Intervention:
    rows = tx.all(_GET, values(id=intervention_id))
    if not rows:
        raise InterventionNotFound(intervention_id)
    return _intervention(rows[0])


def newest(tx: Tx, status: InterventionStatus | None, before: str | None, limit: int) -> list[Intervention]:
    statement = _LIST if status is None else _LIST_STATUS[status]
    return [_intervention(row) for row in tx.all(statement, values(before=before or LAST_ID, limit=limit))]


def resolve(
    tx: Tx, intervention_id: str, session: NewSession | None = None, note: Mapping[str, str] | None = None
) -> tuple[Intervention, Run]:
    """Close the intervention and resume its run without counting the attempt; InterventionClosed if it was closed.

    The session for the run is written in the same transaction.
    """
    [row] = tx.many_returning(_CLOSE, [values(id=intervention_id, wall=tx.wall_ms)])
    if row is None:
        raise InterventionClosed(get(tx, intervention_id).status.value)
    closed = get(tx, intervention_id)
    if session is not None:
        sessions.put(tx, session)
    [resumed] = tx.many_returning(_RESUME, [values(id=closed.run_id)])
    if resumed is not None:
        draft = EventDraft(EventKind.RESUMED, {"intervention": closed.id, **(note or {})})
        events.insert(tx, events.rows_for(closed.run_id, resumed[-1], [draft], tx.wall_ms))
        return closed, run_of(resumed)
    return closed, run_of(tx.all(_RUN, values(id=closed.run_id))[0])


def close_of_run(tx: Tx, run_id: str, status: InterventionStatus) -> None:
    """Close the interventions of a run that a person resumed or cancelled directly."""
    tx.run(_CLOSE_OF_RUN, values(run_id=run_id, status=status.value, wall=tx.wall_ms))
