"""Self-tests: runs that only wait, stall or kill their worker, to try and measure recovery."""

import asyncio
import functools
import os
import signal
import sys
import threading
import time

from corral.domain.ports.execution import FrontierClient, Task
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.payload.selftest import SelftestPayload
from corral.domain.runs.run import SELFTEST
from corral.engine.worker.kinds.spec import KindSpec


class SelftestKind:
    def __init__(self) -> None:
        self._ballast: list[bytes] = []  # holds the memory of runs that grow

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:  # noqa: ARG002 - a selftest has no items
        payload = task.payload.read(SelftestPayload)
        match payload.do:
            case "nothing":
                pass
            case "sleep":
                await asyncio.sleep(payload.seconds)
            case "stall":
                # Block the event loop on purpose, as a runaway regular expression does.
                time.sleep(payload.seconds)  # noqa: ASYNC251
            case "die":
                sys.stderr.write("selftest: this worker kills itself now\n")
                sys.stderr.flush()
                kill = functools.partial(os.kill, os.getpid(), signal.Signals[payload.signal])
                if payload.after_s is None:
                    kill()
                    raise RuntimeError("selftest: the signal did not end this worker")
                # From a thread: when the process dies, it is executing no run, or another one.
                threading.Timer(payload.after_s, kill).start()
                await asyncio.sleep(payload.after_s + 60)
            case "grow":
                self._ballast.append(b"x" * payload.mib * 2**20)
                await asyncio.sleep(payload.seconds)
            case "fail":
                return Failed(FailureCode.NETWORK, "selftest: failed as requested", "selftest")
            case other:
                raise ValueError(f"unknown selftest {other!r}")
        echo = {"echo": payload.echo} if payload.echo else {}
        return Fetched(records=({"selftest": "done", **echo},) if payload.record else ())


SELFTEST_KIND = KindSpec(SELFTEST, SelftestPayload, lambda _: SelftestKind())
