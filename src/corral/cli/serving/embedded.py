"""`corral up`: the API and a node in one process tree."""

from corral.cli.running import Stop
from corral.cli.serving.api import serve_api
from corral.cli.serving.listener import Listener, announcement
from corral.settings import Settings
from corral.wiring.roles import open_node


async def up_embedded(settings: Settings, listener: Listener, *, as_json: bool) -> int:

    stop = Stop(grace_s=settings.shutdown_grace_seconds)
    stop.listen()
    message = announcement(settings, listener, "up" if as_json else "is up", as_json=as_json)
    async with open_node(settings) as app:
        assert app.node is not None
        stop.on_repeat = app.node.stop_now
        await serve_api(app, listener, stop, announce=message)
    return stop.exit_code
