"""State of the processes of this installation, if a supervisor runs."""

import asyncio

from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral
from corral.api.routing import make_router
from corral.domain.errors import NotSupervised
from corral.supervisor.status import read_status
from corral.views.supervisor import SupervisorRead

router = make_router("health")


@router.get("/supervisor", response_model=SupervisorRead)
async def supervisor(corral: Corral) -> Response:
    status = await asyncio.to_thread(read_status, corral.settings.data_dir / "run")
    if status is None:
        raise NotSupervised
    return render.answer(status)
