"""The defaults of new jobs. Existing jobs keep their values."""

from starlette.responses import Response

from corral.api import render
from corral.api.deps import Corral
from corral.api.routing import make_router
from corral.api.schemas.settings import SettingsChange, SettingsRead, settings_read

router = make_router("settings")


@router.get("/settings", response_model=SettingsRead)
async def read_settings(corral: Corral) -> Response:
    return render.answer(settings_read(await corral.store.jobs.defaults(), corral.settings))


@router.put("/settings", response_model=SettingsRead)
async def change_settings(body: SettingsChange, corral: Corral) -> Response:
    """Store the defaults for jobs created from now on; `max_concurrent_runs` takes effect within seconds."""
    changed = await corral.store.jobs.change_defaults(body.changes())
    return render.answer(settings_read(changed, corral.settings))
