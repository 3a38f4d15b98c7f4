"""The inside of a worker process: it answers for every task, whatever becomes of it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson

from corral.domain.ports.execution import FrontierClient, RunKind
from corral.domain.runs.outcome import Fetched, Outcome, Task
from corral.domain.runs.payload.selftest import SelftestPayload
from corral.domain.runs.payload.stored import Payload
from corral.engine.worker import messages
from corral.engine.worker.worker import Worker


class Sleeper:
    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        await asyncio.sleep(task.payload.read(SelftestPayload).seconds)
        return Fetched()


class CancelsItself:
    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        raise asyncio.CancelledError


class Unwritable:
    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        return Fetched(stats={"it": object()})


KINDS: dict[str, RunKind] = {"sleep": Sleeper(), "quits": CancelsItself(), "unwritable": Unwritable()}


def a_task(kind: str = "sleep", seconds: float = 30) -> Task:
    return Task("r1", 1, kind, "http", 1, Payload({"seconds": seconds}), timeout_s=60)


@asynccontextmanager
async def a_worker() -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    their_reader, their_writer = await asyncio.open_connection(sock=theirs)
    serving = asyncio.create_task(Worker(their_reader, their_writer, KINDS).serve())
    try:
        yield reader, writer
    finally:
        writer.close()
        await serving
        their_writer.close()


async def answer(reader: asyncio.StreamReader) -> list[object]:
    async with asyncio.timeout(2):
        size = int.from_bytes(await reader.readexactly(4), "big")
        [message] = orjson.loads(await reader.readexactly(size))
    return list(message)


async def test_a_task_cancelled_in_the_breath_it_arrived_in_is_confirmed() -> None:
    async with a_worker() as (reader, writer):
        writer.write(messages.packed([messages.task_message(a_task()), ["cancel", "r1", 1]]))
        assert await answer(reader) == ["aborted", "r1", 1]


async def test_a_cancelled_task_is_confirmed() -> None:
    async with a_worker() as (reader, writer):
        writer.write(messages.packed([messages.task_message(a_task())]))
        await asyncio.sleep(0.05)
        writer.write(messages.packed([["cancel", "r1", 1]]))
        assert await answer(reader) == ["aborted", "r1", 1]


async def test_another_epoch_of_the_run_is_left_alone() -> None:
    async with a_worker() as (reader, writer):
        writer.write(messages.packed([messages.task_message(a_task(seconds=0.2)), ["cancel", "r1", 2]]))
        assert (await answer(reader))[:4] == ["outcome", "r1", 1, "Fetched"]


async def test_a_task_that_cancels_itself_is_answered_for() -> None:
    async with a_worker() as (reader, writer):
        writer.write(messages.packed([messages.task_message(a_task("quits"))]))
        assert await answer(reader) == ["aborted", "r1", 1]


async def test_an_outcome_that_cannot_be_written_down_becomes_a_failure() -> None:
    async with a_worker() as (reader, writer):
        writer.write(messages.packed([messages.task_message(a_task("unwritable"))]))
        message = await answer(reader)
        assert message[:4] == ["outcome", "r1", 1, "Failed"]


async def test_a_kind_nobody_knows_is_a_failure() -> None:
    async with a_worker() as (reader, writer):
        writer.write(messages.packed([messages.task_message(a_task("unheard of"))]))
        assert (await answer(reader))[3] == "Failed"
