"""`corral up`: everything in one process tree."""

from typing import TYPE_CHECKING

from corral.cli.options import AsJson, Host, Port

if TYPE_CHECKING:
    from corral.cli.serving import Listener
    from corral.settings import Settings


def up(host: Host = "127.0.0.1", port: Port = 8000, as_json: AsJson = False) -> None:
    """Start the API, the dashboard and a worker node.

    \b
    corral up
    corral up --port 9000
    corral up --port 0 --json       one line with its address once it answers
    APP_WRITE_TOKEN=… corral up --host 0.0.0.0
    """
    from corral.cli.running import finish_serving
    from corral.cli.serving import listening
    from corral.log import configure_logging
    from corral.settings import load_settings

    settings = load_settings()
    configure_logging(settings.log_level)
    finish_serving(_up(settings, listening(settings, host, port), as_json=as_json))


async def _up(settings: "Settings", listener: "Listener", *, as_json: bool) -> int:
    from corral.cli.running import Stop
    from corral.cli.serving import announcement, serve_api
    from corral.wiring import opened

    stop = Stop(grace_s=settings.grace_seconds)
    stop.listen()
    said = announcement(settings, listener, "up" if as_json else "is up", as_json=as_json)
    async with opened(settings, works=True) as app:
        assert app.node is not None
        stop.on_haste = app.node.hurry
        await serve_api(app, listener, stop, announce=said)
    return stop.exit_code
