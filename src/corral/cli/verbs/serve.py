"""`corral serve`: the API without a node."""

from dataclasses import dataclass

from corral.cli.options import AsJson, ListenOptions
from corral.cli.running import Stop
from corral.cli.serving.api import serve_api
from corral.cli.serving.finish import finish_serving
from corral.cli.serving.listener import Listener, announcement, open_listener
from corral.log import configure_logging
from corral.settings import Settings, load_settings
from corral.wiring.roles import open_api


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    listen: ListenOptions
    as_json: AsJson = False


def serve(options: ServeOptions) -> None:
    """Serve the API and the dashboard, without executing runs.

    Runs stay queued until a node (`corral worker`) executes them.

    \b
    corral serve
    corral serve --port 9000
    corral serve --port 0 --json    one line with its address once it answers
    """

    settings = load_settings()
    configure_logging(settings.log_level)
    finish_serving(_serve(settings, open_listener(settings, options.listen), as_json=options.as_json))


async def _serve(settings: Settings, listener: Listener, *, as_json: bool) -> int:

    stop = Stop(grace_s=settings.shutdown_grace_seconds)
    stop.listen()
    role = "serves" if as_json else "serves; runs stay queued until a `corral worker` claims them"
    message = announcement(settings, listener, role, as_json=as_json)
    async with open_api(settings) as app:
        await serve_api(app, listener, stop, announce=message)
    return stop.exit_code
