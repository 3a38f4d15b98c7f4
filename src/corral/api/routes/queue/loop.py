"""The autonomous loop: its state, start and stop."""

from datetime import UTC, datetime

from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral
from corral.api.routing import make_router
from corral.api.schemas.loop import LoopRead, LoopStart
from corral.domain.loop.state import LoopState
from corral.domain.loop.windows import parse_window
from corral.views.loop import loop_view
from corral.wiring.scrapers import registry_key

router = make_router("loop")


@router.get("/loop", response_model=LoopRead)
async def read_loop(corral: Corral) -> Response:
    return await _answer(corral, await corral.store.loop.read())


@router.post("/loop/start", response_model=LoopRead)
async def start_loop(corral: Corral, body: LoopStart | None = None) -> Response:
    """Reconcile at once and then at regular intervals, until it is stopped; also after a restart."""
    options = body or LoopStart(every_minutes=15)
    for window in options.windows:
        parse_window(window)
    return await _answer(corral, await corral.store.loop.configure(options.every_minutes * 60, options.windows))


@router.post("/loop/stop", response_model=LoopRead)
async def stop_loop(corral: Corral) -> Response:
    """Start no further reconciliation. Tasks that are in the queue are executed."""
    return await _answer(corral, await corral.store.loop.stop())


async def _answer(corral: Corral, state: LoopState) -> Response:
    has_open_tasks = await corral.store.queue.has_work(registry_key(corral.settings.scraper_config))
    return render.answer(loop_view(state, datetime.now(UTC), has_open_tasks=has_open_tasks))
