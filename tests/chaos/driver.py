"""The real stack in a process of its own: `python -m tests.chaos.driver '{"database_url": …}'`.

It says `ready` once it claims, and stops as the command line does: at the first SIGTERM in order, at the second in a
hurry.
"""

import asyncio
import json
import signal
import sys
import time

import uvloop

from corral.settings import Settings, load_settings
from corral.wiring.app import App
from corral.wiring.roles import open_node


def say(what: str, **more: object) -> None:
    sys.stdout.write(json.dumps({"what": what, **more}) + "\n")
    sys.stdout.flush()


async def work(settings: Settings, port: int | None, began: float) -> None:
    stop = asyncio.Event()

    async with open_node(settings) as app:
        assert app.node is not None
        stop_now = app.node.stop_now

        def on_signal() -> None:
            if stop.is_set():
                stop_now()
            app.draining = True
            stop.set()

        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, on_signal)
        say("ready", began_at=began, took_s=time.time() - began)
        telling = asyncio.create_task(_tell_workers(app))
        if port is None:
            await stop.wait()
        else:
            from corral.api.binding import bind_listener
            from corral.api.server import serve

            await serve(app, "127.0.0.1", port, stop=stop, listening=bind_listener("127.0.0.1", port))
        telling.cancel()
        say("stopping", executing=app.node.executing)
    say("stopped")


async def _tell_workers(app: App) -> None:
    """The pids of the workers, each time they change."""
    told: list[int] = []
    while app.node is not None:
        if app.node.worker_pids != told:
            told = app.node.worker_pids
            say("workers", pids=told)
        await asyncio.sleep(0.02)


def main() -> None:
    began = time.time()
    given = json.loads(sys.argv[1])
    port = given.pop("port", None)
    uvloop.run(work(load_settings(**given), port, began))


if __name__ == "__main__":
    main()
