"""The inside of a worker process: it answers for every task, whatever becomes of it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from corral.domain.crawl.crawl import Counts, ItemState
from corral.domain.crawl.item import Batch, BatchReport, Change, DiscoveredLink, Item, ItemResult
from corral.domain.ports.execution import FrontierClient, RunKind, Task
from corral.domain.runs.artifact import Artifact, ArtifactKind
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Fetched, Outcome, WaitReason
from corral.domain.runs.payload.selftest import SelftestPayload
from corral.domain.runs.payload.stored import Payload
from corral.engine.worker import messages
from corral.engine.worker.worker import Worker
from corral.entrypoints import worker_process


class Sleeper:
    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        await asyncio.sleep(task.payload.read(SelftestPayload).seconds)
        return Fetched()


class CancelsItself:
    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        raise asyncio.CancelledError


class Text(str):
    """As the strings of lxml."""


class UnwritableReport:
    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        await frontier.step(BatchReport((ItemResult(1, "k", ItemState.DONE, record={"it": object()}),), (), 1))
        return Fetched()


class Unwritable:
    async def perform(self, task: Task, frontier: FrontierClient) -> Outcome:
        return Fetched(stats={"it": object()})


KINDS: dict[str, RunKind] = {
    "sleep": Sleeper(),
    "quits": CancelsItself(),
    "unwritable": Unwritable(),
    "unwritable report": UnwritableReport(),
}
ARTIFACT = Artifact("0" * 32, ArtifactKind.HTML, 12)


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


async def answer(reader: asyncio.StreamReader) -> messages.FromWorker:
    async with asyncio.timeout(2):
        [message] = await anext(messages.read_from_worker(reader))
    return message


async def test_a_task_cancelled_in_the_breath_it_arrived_in_is_confirmed() -> None:
    async with a_worker() as (reader, writer):
        writer.write(messages.encode_frame([messages.start_run(a_task()), messages.CancelRun("r1", 1)]))
        assert await answer(reader) == messages.RunAborted("r1", 1)


async def test_a_cancelled_task_is_confirmed() -> None:
    async with a_worker() as (reader, writer):
        writer.write(messages.encode_frame([messages.start_run(a_task())]))
        await asyncio.sleep(0.05)
        writer.write(messages.encode_frame([messages.CancelRun("r1", 1)]))
        assert await answer(reader) == messages.RunAborted("r1", 1)


async def test_another_epoch_of_the_run_is_left_alone() -> None:
    async with a_worker() as (reader, writer):
        writer.write(messages.encode_frame([messages.start_run(a_task(seconds=0.2)), messages.CancelRun("r1", 2)]))
        assert await answer(reader) == messages.RunFetched("r1", 1, Fetched())


async def test_a_task_that_cancels_itself_is_answered_for() -> None:
    async with a_worker() as (reader, writer):
        writer.write(messages.encode_frame([messages.start_run(a_task("quits"))]))
        assert await answer(reader) == messages.RunAborted("r1", 1)


async def test_an_outcome_that_cannot_be_written_down_becomes_a_failure() -> None:
    async with a_worker() as (reader, writer):
        writer.write(messages.encode_frame([messages.start_run(a_task("unwritable"))]))
        message = await answer(reader)
        assert isinstance(message, messages.RunFailed)
        assert (message.run_id, message.epoch, message.outcome.detail) == ("r1", 1, "bug")


async def test_a_report_that_cannot_be_encoded_fails_its_run_only() -> None:
    async with a_worker() as (reader, writer):
        writer.write(messages.encode_frame([messages.start_run(a_task("unwritable report"))]))
        message = await answer(reader)
        assert isinstance(message, messages.RunFailed)
        assert "object cannot be written as JSON" in message.outcome.message


async def test_a_kind_nobody_knows_is_a_failure() -> None:
    async with a_worker() as (reader, writer):
        writer.write(messages.encode_frame([messages.start_run(a_task("unheard of"))]))
        assert isinstance(await answer(reader), messages.RunFailed)


def test_an_idle_worker_knows_the_bytes_of_two_messages() -> None:
    """It recognises them without loading the module that encodes them."""
    header = worker_process._HEADER
    assert messages.encode_frame([messages.Ready()])[header:] == worker_process._READY
    assert worker_process._TASK in messages.encode_frame([messages.start_run(a_task())])
    others: list[messages.ToWorker] = [messages.WorkerSetup({"user_agent": '["task",'}), messages.ReplaceKeys(["k"])]
    assert worker_process._TASK not in messages.encode_frame(others)


@pytest.mark.parametrize(
    "outcome",
    [
        Fetched({"bytes": 1}, ({"a": [1, None, 0.5]},), ("b",), {"calls": []}, (ARTIFACT,), {"c": 1}),
        Failed(FailureCode.BLOCKED, "no", "captcha", 403, "60", {"wait_s": 1.5}, "Traceback", (ARTIFACT,)),
        Deferred("site.test", WaitReason.RETRY_AFTER, 12.5),
    ],
)
def test_every_part_of_an_outcome_arrives(outcome: Outcome) -> None:
    encoded = messages.encode_outcome(a_task(), outcome)
    [message] = msgspec.json.decode(b"[%b]" % encoded, type=list[messages.FromWorker])
    assert isinstance(message, messages.RunEnd)
    assert message.outcome == outcome


def test_every_part_of_a_report_and_of_a_batch_arrives() -> None:
    found = DiscoveredLink("http://a.test/b", "k2", "a.test", 1, "out_of_scope", 0.5, "why", "page", "2026-01-01")
    version = ("digest", None, "Mon")
    ended = ItemResult(
        7, "k", ItemState.DONE, record={"t": "x"}, found=(found,), version=version, change=Change.NEW, depth=2
    )
    report = messages.SendReport("r1", 1, BatchReport((ended,), (7, 8), 3, traps={"a": [1]}, at_once=4))
    item = Item(9, "http://a.test/b", "k2", 1, 1, earlier_version=version, found_on="http://a.test/")
    batch = messages.SendBatch("r1", 1, Batch((item,), Counts(done=1), next_due_s=0.5, reasons={"x": 1}))
    encoded = messages.encode_frame([report])[4:]
    assert msgspec.json.decode(encoded, type=list[messages.FromWorker]) == [report]
    encoded = messages.encode_frame([batch])[4:]
    assert msgspec.json.decode(encoded, type=list[messages.ToWorker]) == [batch]


def test_a_subclass_of_str_is_encoded_as_text() -> None:
    encoded = messages.encode_outcome(a_task(), Fetched(records=({"title": Text("x")},)))
    assert b'"title":"x"' in encoded
