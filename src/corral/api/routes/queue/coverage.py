"""Coverage: the latest report, and reconciliation as a run."""

import asyncio

from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral, Id, Key, replay_header
from corral.api.routing import make_router
from corral.api.schemas.common import RunRead
from corral.api.schemas.coverage import CoverageRead, ReconcileRequest
from corral.domain.coverage.errors import CoverageNotFound
from corral.domain.errors import BadConfiguration, BadInput
from corral.wiring.coverage import make_payload

router = make_router("coverage")


@router.get("/coverage", response_model=CoverageRead)
async def read_coverage(corral: Corral, run_id: Id | None = None) -> Response:
    """Return the coverage by source and period: the latest report, or that of one reconciliation run."""
    wanted_run = None if run_id is None else str(run_id)
    report = await corral.store.coverage.report(wanted_run)
    if report is None:
        raise CoverageNotFound(wanted_run)
    return render.answer({**report.document, "run_id": report.run_id})


@router.post("/queue/reconcile", response_model=RunRead)
async def start_reconciliation(corral: Corral, key: Key, body: ReconcileRequest | None = None) -> Response:
    """Compare the expected keys with the inventories, and queue tasks for the gaps, as a run of kind `reconcile`."""
    request = body or ReconcileRequest()
    try:
        payload = await asyncio.to_thread(
            make_payload, corral.settings, request.sources, is_imported=request.is_imported
        )
    except BadConfiguration as error:
        raise BadInput(error.message, field="data_inventory", code="bad_inventory") from None
    run, replayed = await corral.reconciliations.start(payload, key)
    return render.answer(render.run(run), headers=replay_header(replayed))
