"""The heartbeat of a worker process. A separate module, because it starts before everything else is loaded."""

import os
import socket
import threading
import time

BEAT_EVERY_S = 0.5


def start_beating(beat: socket.socket) -> None:
    """Send heartbeats from a separate thread: a stopped process counts as dead, a stalled event loop does not."""

    def run() -> None:
        while True:
            try:
                beat.send(b".", socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            except BlockingIOError:
                pass
            except OSError:
                os._exit(0)  # the node is gone, and with it the only reader of our results
            time.sleep(BEAT_EVERY_S)

    threading.Thread(target=run, name="beat", daemon=True).start()
