"""Nodes and queues, as the API and the command line show them."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from corral.domain.runs.node import BrokerNow, HeldRun, NodeStatus, QueueNow


class HeldRunRead(BaseModel):
    run_id: str
    kind: str
    job_id: str | None
    since: datetime | None = Field(description="when it was claimed")
    lease_left_s: float = Field(description="negative once the lease has expired; the run is then about to be requeued")


class NodeRead(BaseModel):
    owner: str = Field(description="the owner of leases: 128 random bits, new at each start")
    state: Literal["live", "stopping", "lost"] = Field(description="`lost` once it was not seen for 10 s")
    role: Literal["embedded", "worker", "single"] = Field(description="`single` executes one run for a terminal")
    host: str
    pid: int
    transport: str
    queues: list[str] = Field(description="the queues it claims runs from")
    concurrency: int = Field(description="runs at once")
    processes: int = Field(description="worker processes that were alive when it was last seen")
    version: str
    started_at: datetime
    seen_s: float = Field(description="seconds since its last heartbeat, by the database clock")
    holding: int = Field(description="runs it executes now")
    runs: list[HeldRunRead] = Field(description="the oldest 20 of them; GET /workers/{owner}/runs has all")


class BandRead(BaseModel):
    priority: Literal["critical", "high", "medium", "low"]
    due: int
    later: int = Field(description="queued with a due time in the future")
    held: int = Field(description="waiting for a person, or for its host")


class QueueRead(BaseModel):
    queue: Literal["http", "browser", "script"]
    due: int
    later: int
    held: int
    running: int
    oldest_s: float | None = Field(description="how long the oldest due run has waited; null if none is due")
    messages: int | None = Field(description="messages in the broker; null without a broker, or if it does not answer")
    bands: list[BandRead]


def to_held_run_read(run: HeldRun) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "kind": run.kind,
        "job_id": run.job_id,
        "since": run.since,
        "lease_left_s": round(run.lease_left_s, 1),
    }


def node_read(node: NodeStatus) -> dict[str, Any]:
    info = node.info
    return {
        "owner": info.owner,
        "state": node.state.value,
        "role": info.role.value,
        "host": info.host,
        "pid": info.pid,
        "transport": info.transport,
        "queues": list(info.queues),
        "concurrency": info.concurrency,
        "processes": node.processes,
        "version": info.version,
        "started_at": node.started_at,
        "seen_s": round(node.seen_s, 1),
        "holding": node.holding,
        "runs": [to_held_run_read(run) for run in node.runs],
    }


def queue_read(queue: QueueNow, broker: BrokerNow | None) -> dict[str, Any]:
    messages = None if broker is None else broker.messages
    return {
        "queue": queue.name.value,
        "due": queue.due,
        "later": queue.later,
        "held": queue.held,
        "running": queue.running,
        "oldest_s": None if queue.oldest_s is None else round(queue.oldest_s, 1),
        "messages": None if messages is None else messages.get(queue.name, 0),
        "bands": [
            {"priority": band.priority.name.lower(), "due": band.due, "later": band.later, "held": band.held}
            for band in queue.bands
        ],
    }
