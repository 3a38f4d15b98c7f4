"""What a node and its worker processes say to each other, over a pair of sockets.

A frame is a batch of messages: `["task", {…}]`, `["cancel", run, epoch]` and `["keys", […]]` go to the worker;
first `["ready"]`, then `["outcome", run, epoch, kind, {…}]` and `["aborted", run, epoch]` come back.

A run with items says `["report", run, epoch, …]` and is answered `["step", run, epoch, …]`, any number of times.

What is said about the gates of hosts stands in `permits`.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import orjson

from corral.domain.crawl.crawl import Counts, ItemState
from corral.domain.crawl.item import Batch, BatchReport, Change, DiscoveredLink, Item, ItemResult
from corral.domain.runs.artifact import Artifact, ArtifactKind
from corral.domain.runs.outcome import Failed, FailureCode, Fetched, Outcome, Task
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import Lease
from corral.domain.sites.session import SealedSession

_HEADER = 4
_MAX_FRAME = 256 * 1024 * 1024

# Where an end says what was found on its page.
_FOUND_AT = ItemResult._fields.index("found")

Message = list[Any]

TO_GATE = frozenset({"ask", "unask", "told", "delay"})
FROM_GATE = frozenset({"lend", "grant", "refuse", "recall"})


def packed(messages: Sequence[Sequence[Any]]) -> bytes:
    body = orjson.dumps(messages, option=orjson.OPT_NON_STR_KEYS)
    return len(body).to_bytes(_HEADER, "big") + body


def packed_outcomes(answers: Sequence[Sequence[Any]]) -> bytes:
    """Like `packed`; an outcome that cannot be written down (our bug) is replaced by one that says so."""
    try:
        return packed(answers)
    except (TypeError, orjson.JSONEncodeError):
        return packed([_writable(answer) for answer in answers])


def _writable(answer: Sequence[Any]) -> Sequence[Any]:
    try:
        packed([answer])
    except (TypeError, orjson.JSONEncodeError) as error:
        failed = Failed(FailureCode.UNKNOWN, f"the outcome cannot be written as JSON: {error}"[:500], "bug")
        return [answer[0], answer[1], answer[2], "Failed", failed]
    return answer


async def frames(reader: asyncio.StreamReader) -> AsyncIterator[list[Message]]:
    """Batches of messages until the other side is gone."""
    while True:
        try:
            size = int.from_bytes(await reader.readexactly(_HEADER), "big")
            if size > _MAX_FRAME:
                return
            body = await reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        yield orjson.loads(body)


def report_message(task: Task, report: BatchReport) -> Message:
    ended = [
        [*each[:_FOUND_AT], [list(found) for found in each.found], *each[_FOUND_AT + 1 :]] for each in report.ended
    ]
    return ["report", task.run_id, task.epoch, ended, *report[1:]]


def report_of(message: Message) -> BatchReport:
    ended = tuple(_ended_of(cell) for cell in message[3])
    return BatchReport(ended, tuple(message[4]), *message[5:])


def _ended_of(cell: list[Any]) -> ItemResult:
    ended = ItemResult(*cell)
    change = None if ended.change is None else Change(ended.change)
    found = tuple(DiscoveredLink(*each) for each in cell[_FOUND_AT])
    return ended._replace(state=ItemState(ended.state), found=found, change=change)


def step_message(lease: Lease, step: Batch) -> Message:
    items = [list(item) for item in step.items]
    return ["step", lease.run_id, lease.epoch, items, list(step.counts), *step[2:]]


def refused_message(lease: Lease, reason: str) -> Message:
    return ["step", lease.run_id, lease.epoch, None, reason]


def step_of(message: Message) -> Batch | str:
    """What comes next, or why nothing does."""
    if message[3] is None:
        return str(message[4])
    items = tuple(Item(*cell) for cell in message[3])
    return Batch(items, Counts(*message[4]), *message[5:])


def task_message(task: Task) -> Message:
    # Only what the node knows of it: the rest is made inside the worker.
    cell = {
        "run_id": task.run_id,
        "epoch": task.epoch,
        "kind": task.kind,
        "strategy": task.strategy,
        "attempt": task.attempt,
        "payload": task.payload.document(),
        "timeout_s": task.timeout_s,
        "session": task.session,
    }
    return ["task", cell]


def task_of(message: Message) -> Task:
    cell = message[1]
    session = SealedSession(**cell["session"]) if cell["session"] else None
    return Task(**{**cell, "payload": Payload(cell["payload"]), "session": session})


def outcome_message(task: Task, outcome: Outcome) -> Message:
    return ["outcome", task.run_id, task.epoch, type(outcome).__name__, outcome]


def outcome_of(message: Message) -> Outcome:
    _, _, _, kind, cell = message
    left = tuple(Artifact(each["id"], ArtifactKind(each["kind"]), each["bytes"]) for each in cell["artifacts"])
    if kind == "Fetched":
        return Fetched(
            cell["stats"], tuple(cell["records"]), tuple(cell["missing"]), cell["recipe"], left, cell["problems"]
        )
    return Failed(**{**cell, "code": FailureCode(cell["code"]), "artifacts": left})
