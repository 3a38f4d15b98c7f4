"""What a node and its worker processes say to each other, over a pair of sockets.

A frame is a batch of messages: `["task", {…}]`, `["cancel", run, epoch]` and `["keys", […]]` go to the worker;
first `["ready"]`, then `["outcome", run, epoch, kind, {…}]` and `["aborted", run, epoch]` come back.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import orjson

from corral.domain.artifact import Artifact, ArtifactKind
from corral.domain.outcome import Failed, FailureCode, Fetched, Outcome, Task
from corral.domain.session import SealedSession

_HEADER = 4
_MAX_FRAME = 256 * 1024 * 1024

Message = list[Any]


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


def task_message(task: Task) -> Message:
    return ["task", task]


def task_of(message: Message) -> Task:
    cell = message[1]
    session = cell.get("session")
    return Task(**{**cell, "session": SealedSession(**session) if session else None})


def outcome_message(task: Task, outcome: Outcome) -> Message:
    return ["outcome", task.run_id, task.epoch, type(outcome).__name__, outcome]


def outcome_of(message: Message) -> Outcome:
    _, _, _, kind, cell = message
    left = tuple(Artifact(each["id"], ArtifactKind(each["kind"]), each["bytes"]) for each in cell["artifacts"])
    if kind == "Fetched":
        return Fetched(cell["stats"], tuple(cell["records"]), tuple(cell["missing"]), cell.get("recipe"), left)
    return Failed(**{**cell, "code": FailureCode(cell["code"]), "artifacts": left})
