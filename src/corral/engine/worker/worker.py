"""The main loop of a worker process: receive tasks from the node, execute them, answer. It has no database access."""

import asyncio
import functools
from collections.abc import Callable
from typing import Any

from corral.domain.crawl.item import Batch, BatchReport
from corral.domain.ports.execution import RunKind, Task
from corral.domain.runs.outcome import Outcome
from corral.engine.hosts.permits import Permits
from corral.engine.proxies.leases import ProxyLeases
from corral.engine.proxies.messages import GrantProxy
from corral.engine.worker import messages
from corral.engine.worker.attempt import perform
from corral.engine.worker.marker import context_of


class _FrontierClient:
    """The store access of a run with items, through the node. One step at a time."""

    def __init__(self, task: Task, say: Callable[[messages.FromWorker], None]) -> None:
        self._task = task
        self._say = say
        self._answer: asyncio.Future[Any] | None = None

    async def step(self, report: BatchReport) -> Batch:
        self._answer = asyncio.get_running_loop().create_future()
        self._say(messages.SendReport(self._task.run_id, self._task.epoch, report))
        batch: Batch = await self._answer
        return batch

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        self._answer = asyncio.get_running_loop().create_future()
        self._say(messages.CallStore(self._task.run_id, self._task.epoch, name, arguments))
        return await self._answer

    def notify(self, progress: dict[str, Any]) -> None:
        self._say(messages.SendProgress(self._task.run_id, self._task.epoch, progress))

    def take_answer(self, message: messages.SendBatch | messages.ReturnValue | messages.RefuseReport) -> None:
        if self._answer is None or self._answer.done():
            return
        if isinstance(message, messages.SendBatch):
            self._answer.set_result(message.batch)
        elif isinstance(message, messages.ReturnValue):
            self._answer.set_result(message.value)
        else:
            self._answer.set_exception(RuntimeError(f"the database refused a report of this run: {message.reason}"))


class Worker:
    def __init__(  # noqa: PLR0917 - the parts of a worker
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        kinds: dict[str, RunKind],
        on_keys: Callable[[list[str]], None] = lambda _: None,
        permits: Permits | None = None,
        leases: ProxyLeases | None = None,
    ) -> None:
        self._leases = leases or ProxyLeases()
        self._leases.say = self._say
        self._permits = permits or Permits()
        self._permits.say = self._say
        self._on_keys = on_keys
        self._reader = reader
        self._writer = writer
        self._kinds = kinds
        self._tasks: dict[tuple[str, int], asyncio.Task[Outcome]] = {}
        self._answers: list[bytes] = []
        self._frontiers: dict[tuple[str, int], _FrontierClient] = {}

    async def serve(self) -> None:
        """Serve until the node closes the connection. `Ready` was sent before this module was loaded."""
        reporting = asyncio.create_task(self._permits.run(), name="permits")
        async for frame in messages.read_from_node(self._reader):
            for message in frame:
                self._take(message)
        reporting.cancel()
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _take(self, message: messages.ToWorker) -> None:
        match message:
            case messages.StartRun():
                task = message.to_task()
                frontier = _FrontierClient(task, self._say)
                self._frontiers[(task.run_id, task.epoch)] = frontier
                performing = asyncio.create_task(
                    perform(task, self._kinds, frontier),
                    name=f"run {task.run_id}",
                    context=context_of((task.run_id, task.epoch)),
                )
                self._tasks[(task.run_id, task.epoch)] = performing
                performing.add_done_callback(functools.partial(self._answer, task))
            case messages.SendBatch() | messages.ReturnValue() | messages.RefuseReport():
                if (frontier_of_run := self._frontiers.get((message.run_id, message.epoch))) is not None:
                    frontier_of_run.take_answer(message)
            case messages.CancelRun():
                running = self._tasks.get((message.run_id, message.epoch))
                if running is not None:
                    running.cancel(message.signal)
            case GrantProxy():
                self._leases.hear(message)
            case messages.ReplaceKeys():
                self._on_keys(message.keys)
            case messages.WorkerSetup():
                pass  # read before this object was created
            case _:
                self._permits.hear(message)

    def _answer(self, task: Task, performed: asyncio.Task[Outcome]) -> None:
        """Answer outside the task: a task that is cancelled before its first step executes no code of its own."""
        del self._tasks[(task.run_id, task.epoch)]
        del self._frontiers[(task.run_id, task.epoch)]
        if performed.cancelled():
            self._say(messages.RunAborted(task.run_id, task.epoch))
        else:
            self._enqueue(messages.encode_outcome(task, performed.result()))

    def _say(self, message: messages.FromWorker) -> None:
        self._enqueue(messages.encode(message))

    def _enqueue(self, encoded: bytes) -> None:
        if not self._answers:
            asyncio.get_running_loop().call_soon(self._send)
        self._answers.append(encoded)

    def _send(self) -> None:
        """Send all messages enqueued in this iteration of the event loop in one frame."""
        answers, self._answers = self._answers, []
        if not self._writer.is_closing():
            self._writer.write(messages.join_frame(answers))
