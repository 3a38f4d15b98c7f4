"""The worker processes of a node: started, given tasks, listened to, replaced when they die."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from corral.domain.item import Report
from corral.domain.outcome import Outcome
from corral.domain.run import Lease
from corral.engine import wire
from corral.process import linked

log = structlog.get_logger()

_STDERR_TAIL = 64 * 1024
_RESPAWN_PAUSES_S = (0.0, 0.1, 0.3, 1.0, 3.0)
_START_S = 60.0
_EXIT_S = 2.0
# Rounds of the renewer, one a second. A worker silent for so many is not vouched for and gets nothing new;
# they are counted, not timed, so that a node that stood still itself does not take its workers for dead.
SILENT_ROUNDS = 4
GONE_ROUNDS = 10

Key = tuple[str, int]


@dataclass(slots=True)
class Held:
    """A lease that a worker is executing."""

    lease: Lease
    started: float  # monotonic
    deadline: float
    cancelled_at: float | None = None
    timed_out: bool = False


@dataclass(slots=True, eq=False)
class WorkerProcess:
    number: int
    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    beat: socket.socket
    held: dict[Key, Held] = field(default_factory=dict)
    stderr: deque[bytes] = field(default_factory=deque)
    silent_rounds: int = 0  # since its last heartbeat
    alone: bool = False  # it executes one suspect and gets nothing else
    retiring: bool = False  # it ends because we want it to
    outgrown: bool = False  # it is to end when it is done with what it has
    killed_for: str | None = None  # why we killed it, where that is its own fault

    @property
    def is_silent(self) -> bool:
        return self.silent_rounds > SILENT_ROUNDS

    @property
    def takes_work(self) -> bool:
        return not (self.alone or self.retiring or self.outgrown or self.is_silent)

    def send(self, messages: Sequence[Sequence[Any]]) -> None:
        if not self.writer.is_closing():
            self.writer.write(wire.packed(messages))

    def stderr_tail(self) -> str:
        return b"".join(self.stderr)[-_STDERR_TAIL:].decode("utf-8", "replace").replace("\x00", "")


def lend_all(worker: WorkerProcess, message: wire.Message) -> None:
    """Where nobody keeps a gate, everybody may go."""
    if message[0] == "ask":
        worker.send([["lend", message[1], message[2]]])


@dataclass(frozen=True, slots=True)
class PoolEvents:
    """What the pool tells its node."""

    outcomes: Callable[[list[tuple[Held, Outcome]]], None]
    aborted: Callable[[list[Held]], None]
    died: Callable[[WorkerProcess, str], None]
    ready: Callable[[], None]
    reported: Callable[[WorkerProcess, Held, Report], None] = lambda *_: None
    gate: Callable[[WorkerProcess, wire.Message], None] = lend_all


class WorkerPool:
    def __init__(self, size: int, config: dict[str, Any], events: PoolEvents) -> None:
        self._size = size
        self._config = config
        self._events = events
        self.workers: dict[int, WorkerProcess] = {}  # that are ready to work
        self._processes: dict[int, WorkerProcess] = {}  # those that are starting, too
        self._keepers: list[asyncio.Task[None]] = []
        self._stopping = False

    async def start(self) -> None:
        for number in range(self._size):
            keeper = asyncio.create_task(self._keep(number), name=f"worker {number}")
            self._keepers.append(keeper)

    async def stop(self) -> None:
        """Close every connection, wait a moment, then kill what is left."""
        self._stopping = True
        for worker in list(self._processes.values()):
            worker.retiring = True
            worker.writer.close()
        done, late = await asyncio.wait(self._keepers, timeout=_EXIT_S) if self._keepers else (set(), set())
        for worker in list(self._processes.values()):
            _kill(worker.process)
        if late:
            await asyncio.wait(late, timeout=_EXIT_S)
        for keeper in late:
            keeper.cancel()
        await asyncio.gather(*done, *late, return_exceptions=True)

    def tell_keys(self, keys: list[str]) -> None:
        """A new key of the vault, for the workers there are and those to come."""
        self._config = {**self._config, "vault_keys": keys}
        for worker in self._processes.values():
            worker.send([["keys", keys]])

    def kill(self, worker: WorkerProcess) -> None:
        """End a worker that does not listen any more; its keeper starts another one."""
        worker.retiring = True
        _kill(worker.process)

    def kill_for(self, worker: WorkerProcess, why: str) -> None:
        """End a worker over what it does; what it held counts as lost with it."""
        if worker.killed_for is None:
            worker.killed_for = why
            _kill(worker.process)

    def kill_silent(self) -> None:
        """End workers that do not even send heartbeats; what they held counts as lost with them."""
        for worker in self.workers.values():
            if worker.silent_rounds > GONE_ROUNDS and worker.killed_for is None:
                log.warning("worker is silent; killing it", pid=worker.process.pid, runs=len(worker.held))
                self.kill_for(worker, f"killed after {worker.silent_rounds} s without a heartbeat")

    # -- one worker after the other ----------------------------------------------------------------

    async def _keep(self, number: int) -> None:
        quick_deaths = 0
        while not self._stopping:
            await asyncio.sleep(_RESPAWN_PAUSES_S[min(quick_deaths, len(_RESPAWN_PAUSES_S) - 1)])
            try:
                worker = await self._spawn(number)
            except OSError as error:  # no process, memory or file descriptor left, for now
                log.warning("cannot start a worker; trying again", reason=str(error))
                quick_deaths += 1
                continue
            self._processes[number] = worker
            was_ready = False
            try:
                exit_status, was_ready = await self._listen(worker)
            except Exception as error:
                # A bug of ours in taking an answer must not cost the node this worker for good.
                log.error("what a worker said could not be understood", exc_info=error)
                exit_status = f"killed over what it said: {type(error).__name__}"
            finally:
                self._processes.pop(number, None)
                self.workers.pop(number, None)
                worker.beat.close()
                worker.writer.close()
                _kill(worker.process)
            self._events.died(worker, exit_status)
            # One that was ready is replaced at once; one that cannot even start, after a while.
            quick_deaths = 0 if was_ready else quick_deaths + 1
            if not was_ready and not self._stopping:
                log.error("a worker ended while starting", exit=exit_status, stderr=worker.stderr_tail()[-2000:])

    async def _spawn(self, number: int) -> WorkerProcess:
        ours, theirs = linked()
        beat, their_beat = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        arguments = [str(theirs.fileno()), str(their_beat.fileno()), str(os.getpid())]
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "corral.child",
                *arguments,
                pass_fds=(theirs.fileno(), their_beat.fileno()),
                start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env=_child_environment(),
            )
        except OSError:
            ours.close()
            beat.close()
            raise
        finally:
            theirs.close()
            their_beat.close()
        beat.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=ours, limit=2**24)
        worker = WorkerProcess(number, process, reader, writer, beat)
        worker.send([["config", self._config]])
        return worker

    async def _listen(self, worker: WorkerProcess) -> tuple[str, bool]:
        """Hand on what the worker says until it is gone; how it ended, and whether it was ever ready.

        Runs are handed to a worker that is ready, or they would be blamed for what killed it on its way there.
        """
        drain = asyncio.create_task(self._keep_stderr(worker), name="stderr")
        too_slow = asyncio.get_running_loop().call_later(_START_S, _kill, worker.process)
        was_ready = False
        async for frame in wire.frames(worker.reader):
            if was_ready:
                self._sort(worker, frame)
                continue
            was_ready = True
            too_slow.cancel()
            if not self._stopping:
                self.workers[worker.number] = worker
                self._events.ready()
        too_slow.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_S):
                await worker.process.wait()
        _kill(worker.process)
        code = await worker.process.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                await drain
        drain.cancel()
        return worker.killed_for or _ended(code), was_ready

    def _sort(self, worker: WorkerProcess, frame: list[wire.Message]) -> None:
        outcomes: list[tuple[Held, Outcome]] = []
        aborted: list[Held] = []
        for message in frame:
            if message[0] in wire.TO_GATE:
                self._events.gate(worker, message)
                continue
            if message[0] == "report":
                if (held := worker.held.get((message[1], message[2]))) is not None:
                    self._events.reported(worker, held, wire.report_of(message))
                continue
            held = worker.held.pop((message[1], message[2]), None)
            if held is None:
                continue
            if message[0] == "outcome":
                outcomes.append((held, wire.outcome_of(message)))
            else:
                aborted.append(held)
        if worker.alone and not worker.held:
            worker.alone = False
        if outcomes:
            self._events.outcomes(outcomes)
        if aborted:
            self._events.aborted(aborted)

    async def _keep_stderr(self, worker: WorkerProcess) -> None:
        """The last of what it complained about, for the day it dies."""
        assert worker.process.stderr is not None
        kept = 0
        while chunk := await worker.process.stderr.read(65536):
            worker.stderr.append(chunk)
            kept += len(chunk)
            while kept - len(worker.stderr[0]) >= _STDERR_TAIL:
                kept -= len(worker.stderr.popleft())


def _child_environment() -> dict[str, str]:
    """Settings reach a worker through its connection; a script's environment must not hold our secrets."""
    return {name: value for name, value in os.environ.items() if not name.startswith("APP_")}


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _ended(code: int) -> str:
    if code < 0:
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"
    return f"exited with {code}"
