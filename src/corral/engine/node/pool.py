"""The worker processes of a node: start them, send tasks, read their messages, replace dead ones."""

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

from corral.domain.crawl.item import BatchReport
from corral.domain.runs.loss import DeathCause, Loss, assign_blame, cause_of_exit
from corral.domain.runs.outcome import Outcome
from corral.engine.held_lease import HeldLease
from corral.engine.hosts.messages import SlotLoan, SlotRequest, ToLimiter
from corral.engine.proxies.messages import ToProxyPool
from corral.engine.proxies.pool import refuse_proxies
from corral.engine.worker import messages as wire
from corral.engine.worker.marker import SharedMark
from corral.runtime.process import OomKills, environment_without_settings, make_link, process_state

log = structlog.get_logger()

_STDERR_TAIL = 64 * 1024
_RESPAWN_PAUSES_S = (0.0, 0.1, 0.3, 1.0, 3.0)
_START_S = 60.0
_EXIT_S = 2.0
# Rounds of the renewer, one per second. The node neither renews leases of a worker that is silent for longer nor sends
# it runs. Rounds are counted instead of time, so that a suspended node does not mistake its workers for dead.
SILENT_ROUNDS = 4
GONE_ROUNDS = 10

Key = tuple[str, int]


@dataclass(slots=True, eq=False)
class WorkerProcess:
    number: int
    process: asyncio.subprocess.Process
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    beat: socket.socket
    held: dict[Key, HeldLease] = field(default_factory=dict)
    stderr: deque[bytes] = field(default_factory=deque)
    silent_rounds: int = 0  # rounds since its last heartbeat
    mark: SharedMark | None = None  # the run that it is executing
    is_isolated: bool = False  # it executes only suspects
    retiring: bool = False  # the node ends it
    outgrown: bool = False  # it ends once its current runs are done
    killed_for: str | None = None  # why the node killed it, as displayed
    cause: DeathCause | None = None  # decides which of its runs is to blame

    @property
    def is_silent(self) -> bool:
        return self.silent_rounds > SILENT_ROUNDS

    @property
    def takes_work(self) -> bool:
        return self.can_work and not self.is_isolated

    @property
    def can_work(self) -> bool:
        return not (self.retiring or self.outgrown or self.is_silent)

    def send(self, messages: Sequence[wire.ToWorker]) -> None:
        if not self.writer.is_closing():
            self.writer.write(wire.encode_frame(messages))

    def stderr_tail(self) -> str:
        return b"".join(self.stderr)[-_STDERR_TAIL:].decode("utf-8", "replace").replace("\x00", "")


def lend_all(worker: WorkerProcess, message: ToLimiter) -> None:
    """Lend every requested slot, in a process without a host limiter."""
    if isinstance(message, SlotRequest):
        worker.send([SlotLoan(message.host_key, message.count)])


@dataclass(frozen=True, slots=True)
class PoolEvents:
    """Callbacks from the pool to its node."""

    outcomes: Callable[[list[tuple[HeldLease, Outcome]]], None]
    aborted: Callable[[list[HeldLease]], None]
    died: Callable[[WorkerProcess, str, DeathCause], None]
    ready: Callable[[], None]
    reported: Callable[[WorkerProcess, HeldLease, BatchReport], None] = lambda *_: None
    limiter: Callable[[WorkerProcess, ToLimiter], None] = lend_all
    progressed: Callable[[HeldLease, dict[str, Any]], None] = lambda *_: None
    called: Callable[[WorkerProcess, HeldLease, wire.CallStore], None] = lambda *_: None
    proxies: Callable[[WorkerProcess, ToProxyPool], None] = refuse_proxies


class WorkerPool:
    def __init__(self, size: int, config: dict[str, Any], events: PoolEvents) -> None:
        self._size = size
        self._config = config
        self._events = events
        self.workers: dict[int, WorkerProcess] = {}  # ready to work
        self._processes: dict[int, WorkerProcess] = {}  # including those that are starting
        self._keepers: set[asyncio.Task[Any]] = set()
        self._isolating: asyncio.Task[bool] | None = None
        self._oom = OomKills()
        self._stopping = False

    async def start(self) -> None:
        for number in range(self._size):
            self._keepers.add(asyncio.create_task(self._keep(number), name=f"worker {number}"))

    @property
    def isolated(self) -> WorkerProcess | None:
        """Return the isolation worker, if one is ready."""
        return next((worker for worker in self.workers.values() if worker.is_isolated), None)

    def isolate(self) -> None:
        """Start the isolation worker in addition to the others, so that suspects take no capacity from other runs."""
        if self._stopping or (self._isolating is not None and not self._isolating.done()):
            return
        number = max([self._size, *self._processes]) + 1
        self._isolating = asyncio.create_task(self._keep_once(number, is_isolated=True), name=f"worker {number}")
        self._keepers.add(self._isolating)
        self._isolating.add_done_callback(self._keepers.discard)

    def end_isolation(self) -> None:
        """Retire the isolation worker: it ends after its current runs, and another one may start."""
        if (worker := self.isolated) is not None:
            worker.is_isolated, worker.outgrown = False, True
            self._isolating = None
            if not worker.held:
                self.kill(worker)

    async def stop(self) -> None:
        """Close every connection, wait a moment, then kill the remaining processes."""
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

    def send_keys(self, keys: list[str]) -> None:
        """Send the vault keys to all workers, present and future."""
        self._config = {**self._config, "vault_keys": keys}
        for worker in self._processes.values():
            worker.send([wire.ReplaceKeys(keys)])

    def kill(self, worker: WorkerProcess) -> None:
        """Kill a worker that no longer reads its messages; its supervisor task starts another one."""
        worker.retiring = True
        _kill(worker.process)

    def kill_for(self, worker: WorkerProcess, why: str, cause: DeathCause) -> None:
        """Kill a worker; the cause determines which of its runs is to blame."""
        if worker.killed_for is None:
            worker.killed_for, worker.cause = why, cause
            _kill(worker.process)

    def kill_silent(self) -> None:
        """Kill workers that send no heartbeats; their runs count as lost."""
        for worker in self.workers.values():
            if worker.silent_rounds > GONE_ROUNDS and worker.killed_for is None:
                log.warning("worker_silent_killed", pid=worker.process.pid, runs=len(worker.held))
                why = f"killed after {worker.silent_rounds} s without a heartbeat"
                # A process in the stopped state received SIGSTOP from outside Corral.
                is_stopped = process_state(worker.process.pid) in ("T", "t")
                self.kill_for(worker, why, DeathCause.OUTSIDE if is_stopped else DeathCause.SILENCE)

    # -- the life of a worker process ----------------------------------------------------------------

    async def _keep(self, number: int) -> None:
        quick_deaths = 0
        while not self._stopping:
            await asyncio.sleep(_RESPAWN_PAUSES_S[min(quick_deaths, len(_RESPAWN_PAUSES_S) - 1)])
            # Replace a worker at once if it was ready, after a delay if it failed to start.
            quick_deaths = 0 if await self._keep_once(number) else quick_deaths + 1

    async def _keep_once(self, number: int, *, is_isolated: bool = False) -> bool:
        """Run one worker process from start to end; return whether it was ever ready."""
        try:
            worker = await self._spawn(number)
        except OSError as error:  # out of processes, memory or file descriptors
            log.warning("worker_start_failed", reason=str(error))
            return False
        worker.is_isolated = is_isolated
        self._processes[number] = worker
        was_ready = False
        try:
            exit_status, cause, was_ready = await self._listen(worker)
        except Exception as error:
            # A bug in the handling of a message must not permanently cost the node this worker.
            log.error("worker_message_invalid", exc_info=error)
            exit_status, cause = f"killed after an invalid message: {type(error).__name__}", DeathCause.CRASH
        finally:
            self._processes.pop(number, None)
            self.workers.pop(number, None)
            worker.beat.close()
            worker.writer.close()
            _kill(worker.process)
        self._events.died(worker, exit_status, cause)
        if worker.mark is not None:
            worker.mark.close()
        if not was_ready and not self._stopping:
            log.error("worker_exited_while_starting", exit=exit_status, stderr=worker.stderr_tail()[-2000:])
        return was_ready

    async def _spawn(self, number: int) -> WorkerProcess:
        mark, mark_fd = SharedMark.create()
        ours, theirs = make_link()
        beat, their_beat = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        fds = (theirs.fileno(), their_beat.fileno(), mark_fd)
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "corral.entrypoints.worker_process",
                *map(str, (*fds, os.getpid())),
                pass_fds=fds,
                start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env=environment_without_settings(),
            )
        except OSError:
            ours.close()
            beat.close()
            raise
        finally:
            theirs.close()
            their_beat.close()
            os.close(mark_fd)
        beat.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=ours, limit=2**24)
        worker = WorkerProcess(number, process, reader, writer, beat, mark=mark)
        worker.send([wire.WorkerSetup(self._config)])
        return worker

    async def _listen(self, worker: WorkerProcess) -> tuple[str, DeathCause, bool]:
        """Dispatch the worker's messages until it ends; return how and why it ended, and whether it was ever ready.

        Only a ready worker gets runs: otherwise they would be blamed for a failed start.
        """
        drain = asyncio.create_task(self._keep_stderr(worker), name="stderr")
        too_slow = asyncio.get_running_loop().call_later(_START_S, _kill, worker.process)
        was_ready = False
        async for frame in wire.read_from_worker(worker.reader):
            if was_ready:
                self._dispatch(worker, frame)
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
        status, signal_name = _describe_exit(code)
        cause = worker.cause or cause_of_exit(signal_name, oom_kills=self._oom.count_new())
        return worker.killed_for or status, cause, was_ready

    def _dispatch(self, worker: WorkerProcess, frame: list[wire.FromWorker]) -> None:
        outcomes: list[tuple[HeldLease, Outcome]] = []
        aborted: list[HeldLease] = []
        for message in frame:
            if isinstance(message, wire.SendReport | wire.CallStore | wire.SendProgress):
                self._forward(worker, message)
            elif isinstance(message, wire.RunEnd | wire.RunAborted):
                held = worker.held.pop((message.run_id, message.epoch), None)
                if held is None:
                    continue  # the node cancelled and released it meanwhile
                if isinstance(message, wire.RunAborted):
                    aborted.append(held)
                else:
                    outcomes.append((held, message.outcome))
            elif isinstance(message, ToProxyPool):
                self._events.proxies(worker, message)
            elif not isinstance(message, wire.Ready):
                self._events.limiter(worker, message)
        if outcomes:
            self._events.outcomes(outcomes)
        if aborted:
            self._events.aborted(aborted)

    def _forward(self, worker: WorkerProcess, message: wire.SendReport | wire.CallStore | wire.SendProgress) -> None:
        held = worker.held.get((message.run_id, message.epoch))
        if held is None:
            return
        if isinstance(message, wire.SendReport):
            self._events.reported(worker, held, message.report)
        elif isinstance(message, wire.CallStore):
            self._events.called(worker, held, message)
        else:
            self._events.progressed(held, message.progress)

    async def _keep_stderr(self, worker: WorkerProcess) -> None:
        """Keep the end of the worker's stderr, for the report of its death."""
        assert worker.process.stderr is not None
        size = 0
        while chunk := await worker.process.stderr.read(65536):
            worker.stderr.append(chunk)
            size += len(chunk)
            while size - len(worker.stderr[0]) >= _STDERR_TAIL:
                size -= len(worker.stderr.popleft())


def losses_of(worker: WorkerProcess, held: Sequence[HeldLease], exit_status: str, cause: DeathCause) -> list[Loss]:
    """Return the loss or interruption of each run that the dead worker held."""
    keys = [each.lease.key for each in held]
    executing = None if worker.mark is None else worker.mark.find(keys)
    run_id = None if executing is None else executing[0]
    log.warning("worker_lost", pid=worker.process.pid, exit=exit_status, cause=cause.value, runs=len(held), run=run_id)
    blames, tail = assign_blame(cause, keys, executing), worker.stderr_tail()
    return [Loss(each.lease, blames[each.lease.key], exit_status, tail) for each in held]


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _describe_exit(code: int) -> tuple[str, str | None]:
    """Return a description of an exit status, and the name of the signal if there was one."""
    if code >= 0:
        return f"exited with {code}", None
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"killed by {name}", name
