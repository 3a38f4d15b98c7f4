"""Messages between a node and its worker processes.

A frame is four bytes of length, then a JSON array of the messages that are ready in one iteration of the event loop.
The node sends `WorkerSetup` first; the worker answers `Ready` and then takes `StartRun`, `CancelRun` and `ReplaceKeys`.
A run ends with one message of `RunEnd`, or with `RunAborted` if the node cancelled it. A run with items sends any
number of `SendReport`, each answered by `SendBatch` or `RefuseReport`; a script sends `SendProgress`.

`entrypoints.worker_process` recognises two of these by their bytes, so that an idle worker does not load this module.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, TypeVar

import msgspec

from corral.domain.crawl.item import Batch, BatchReport
from corral.domain.ports.execution import Task
from corral.domain.runs.outcome import Deferred, Failed, FailureCode, Fetched, Outcome
from corral.domain.runs.payload.stored import Payload
from corral.domain.runs.run import Lease
from corral.domain.sites.session import SealedSession
from corral.engine.hosts.messages import FromLimiter, ToLimiter
from corral.engine.proxies.messages import GrantProxy, ToProxyPool

T = TypeVar("T")

_HEADER_BYTES = 4
_MAX_FRAME_BYTES = 256 * 1024 * 1024


# -- from the node ---------------------------------------------------------------------------------


class WorkerSetup(msgspec.Struct, frozen=True, array_like=True, tag="setup"):
    config: dict[str, Any]  # configuration of wiring.worker_config.WorkerConfig, which this layer may not import


class StartRun(msgspec.Struct, frozen=True, array_like=True, tag="task"):
    run_id: str
    epoch: int
    kind: str
    strategy: str
    attempt: int
    payload: dict[str, Any]
    timeout_s: float
    session: SealedSession | None = None
    job_id: str | None = None

    def to_task(self) -> Task:
        return Task(
            self.run_id,
            self.epoch,
            self.kind,
            self.strategy,
            self.attempt,
            Payload(self.payload),
            self.timeout_s,
            self.session,
            job_id=self.job_id,
        )


class CancelRun(msgspec.Struct, frozen=True, array_like=True, tag="cancel"):
    run_id: str
    epoch: int
    signal: str = ""  # first signal for a script; empty for the default


class ReplaceKeys(msgspec.Struct, frozen=True, array_like=True, tag="keys"):
    """The keys of the vault, after one was added."""

    keys: list[str]


class SendBatch(msgspec.Struct, frozen=True, array_like=True, tag="batch"):
    """The answer to a report: the items to process next."""

    run_id: str
    epoch: int
    batch: Batch


class RefuseReport(msgspec.Struct, frozen=True, array_like=True, tag="refuse_report"):
    """The database does not accept the report; the run fails."""

    run_id: str
    epoch: int
    reason: str


class ReturnValue(msgspec.Struct, frozen=True, array_like=True, tag="return"):
    """The answer to a call of the store."""

    run_id: str
    epoch: int
    value: Any


ToWorker = (
    WorkerSetup | StartRun | CancelRun | ReplaceKeys | SendBatch | RefuseReport | ReturnValue | GrantProxy | FromLimiter
)


# -- from the worker -------------------------------------------------------------------------------


class Ready(msgspec.Struct, frozen=True, array_like=True, tag="ready"):
    pass


class SendReport(msgspec.Struct, frozen=True, array_like=True, tag="report"):
    run_id: str
    epoch: int
    report: BatchReport


class CallStore(msgspec.Struct, frozen=True, array_like=True, tag="call"):
    """A read or write that a run without items requests from its node; answered by `ReturnValue` or `RefuseReport`."""

    run_id: str
    epoch: int
    name: str
    arguments: dict[str, Any]


class SendProgress(msgspec.Struct, frozen=True, array_like=True, tag="progress"):
    """The progress of a run; the node does not answer."""

    run_id: str
    epoch: int
    progress: dict[str, Any]


class RunAborted(msgspec.Struct, frozen=True, array_like=True, tag="aborted"):
    run_id: str
    epoch: int


class RunFetched(msgspec.Struct, frozen=True, array_like=True, tag="fetched"):
    run_id: str
    epoch: int
    outcome: Fetched


class RunFailed(msgspec.Struct, frozen=True, array_like=True, tag="failed"):
    run_id: str
    epoch: int
    outcome: Failed


class RunDeferred(msgspec.Struct, frozen=True, array_like=True, tag="deferred"):
    run_id: str
    epoch: int
    outcome: Deferred


# One message type for each type of outcome: a further outcome needs a Struct above and a name in each of these lines.
RunEnd = RunFetched | RunFailed | RunDeferred
_RUN_END_OF: dict[type, type[RunEnd]] = {Fetched: RunFetched, Failed: RunFailed, Deferred: RunDeferred}

FromWorker = Ready | SendReport | CallStore | SendProgress | RunAborted | RunEnd | ToProxyPool | ToLimiter


def start_run(task: Task) -> StartRun:
    session = task.session
    assert session is None or isinstance(session, SealedSession), "an open session never leaves its process"
    return StartRun(
        task.run_id,
        task.epoch,
        task.kind,
        task.strategy,
        task.attempt,
        task.payload.document(),
        task.timeout_s,
        session,
        task.job_id,
    )


def send_batch(lease: Lease, batch: Batch) -> SendBatch:
    return SendBatch(lease.run_id, lease.epoch, batch)


def refuse_report(lease: Lease, reason: str) -> RefuseReport:
    return RefuseReport(lease.run_id, lease.epoch, reason)


def encode_outcome(task: Task, outcome: Outcome) -> bytes:
    """Encode the end of a run. An outcome that cannot be encoded (a bug in its kind) is replaced by a failure."""
    try:
        return encode(_RUN_END_OF[type(outcome)](task.run_id, task.epoch, outcome))  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        failed = Failed(FailureCode.UNKNOWN, f"the outcome cannot be written as JSON: {error}"[:500], "bug")
        return encode(RunFailed(task.run_id, task.epoch, failed))


# -- frames ----------------------------------------------------------------------------------------


def _encode_subclass(value: object) -> object:
    """Encode subclasses of str, such as the strings that lxml returns."""
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


_encoder = msgspec.json.Encoder(enc_hook=_encode_subclass)
_from_node: msgspec.json.Decoder[list[ToWorker]] = msgspec.json.Decoder(list[ToWorker])
_from_worker: msgspec.json.Decoder[list[FromWorker]] = msgspec.json.Decoder(list[FromWorker])


def encode(message: FromWorker) -> bytes:
    """Encode one message, for `join_frame`. A worker encodes each at once, so that an error reaches the right run."""
    return _encoder.encode(message)


def join_frame(encoded: Sequence[bytes]) -> bytes:
    return _frame(b"[%b]" % b",".join(encoded))


def encode_frame(messages: Sequence[ToWorker | FromWorker]) -> bytes:
    return _frame(_encoder.encode(messages))


def _frame(body: bytes) -> bytes:
    return len(body).to_bytes(_HEADER_BYTES, "big") + body


def read_from_node(reader: asyncio.StreamReader) -> AsyncIterator[list[ToWorker]]:
    return _read_frames(reader, _from_node)


def read_from_worker(reader: asyncio.StreamReader) -> AsyncIterator[list[FromWorker]]:
    return _read_frames(reader, _from_worker)


async def _read_frames(reader: asyncio.StreamReader, decoder: msgspec.json.Decoder[list[T]]) -> AsyncIterator[list[T]]:
    """Yield the messages of each frame until the other side closes the connection."""
    while True:
        try:
            size = int.from_bytes(await reader.readexactly(_HEADER_BYTES), "big")
            if size > _MAX_FRAME_BYTES:
                return
            body = await reader.readexactly(size)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        yield decoder.decode(body)
