"""A fire drill: a run that only waits, stalls or kills its worker, so that recovery can be tried and measured."""

import asyncio
import functools
import os
import signal
import sys
import threading
import time

from corral.domain.ports.execution import FrontierClient
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome, Task
from corral.domain.runs.payload.selftest import SelftestPayload


class DrillKind:
    def __init__(self) -> None:
        self._kept: list[bytes] = []  # by one that grows

    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:  # noqa: ARG002 - a drill has no items
        payload = task.payload.read(SelftestPayload)
        match payload.do:
            case "nothing":
                pass
            case "sleep":
                await asyncio.sleep(payload.seconds)
            case "stall":
                # On purpose: the whole event loop stands still, as under a runaway regular expression.
                time.sleep(payload.seconds)  # noqa: ASYNC251
            case "die":
                sys.stderr.write("drill: this worker kills itself now\n")
                sys.stderr.flush()
                kill = functools.partial(os.kill, os.getpid(), signal.Signals[payload.signal])
                if payload.after_s is None:
                    kill()
                    raise RuntimeError("drill: the signal did not end this worker")
                # From a thread: the process is in no run, or in another one, when it dies.
                threading.Timer(payload.after_s, kill).start()
                await asyncio.sleep(payload.after_s + 60)
            case "grow":
                self._kept.append(b"x" * payload.mib * 2**20)
                await asyncio.sleep(payload.seconds)
            case "fail":
                return Failed(FailureCode.NETWORK, "drill: failed as asked", "drill")
            case other:
                raise ValueError(f"unknown drill {other!r}")
        return Fetched(records=({"drill": "done"},) if payload.record else ())
